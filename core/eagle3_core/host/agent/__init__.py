"""What runs on the GPU host: standard library only, Python 3.8 and newer."""
