"""Where a run lives: one SSH connection, one channel, one agent."""
