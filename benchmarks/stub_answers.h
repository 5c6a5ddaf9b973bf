/*
 * The answers of the stub, rendered once: what is the same in all of them as pieces, and the tail,
 * which says how long the request was held.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASONING_SHARE 0.6
#define PROMPT_TOKENS 64
#define TAIL_MAX 768

struct piece { char *data; size_t len; };

static long tokens = 1263, chunk_tokens = 1;
static struct piece *stream_pieces, whole_piece;
static int stream_count;

static const char *const WORDS[] = {
    " so", " we", " need", " the", " sum", " of", " both", " sides", ",", " which", " gives", " 12",
    " =", " 3", " *", " 4", ".", "\\n", "\\n\\n", " Wait", " \\\"", "\\\"", " \\\\sqrt", "{", "}", " na\u00efve",
    " \u2264", " x", " y", " and", " then", " check", " it", " again", ":", " yes", " is", " a", " to",
};

static const char *word(long i)
{
    return WORDS[(uint32_t)(i * 2246822519u) % (sizeof WORDS / sizeof *WORDS)];
}

static void say(FILE *out, long from, long to)
{
    for (long i = from; i < to; i++)
        fputs(word(i), out);
}

static struct piece http_chunk(const char *before, const char *body)
{
    struct piece p;
    p.len = (size_t)asprintf(&p.data, "%s%zx\r\n%s\r\n", before, strlen(body), body);
    return p;
}

#define CHUNK_HEAD "data: {\"id\":\"chatcmpl-8f14e45fceea167a5a36dedd4bea2543\"," \
    "\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"stub\",\"choices\":["
#define USAGE "\"usage\":{\"prompt_tokens\":%d,\"total_tokens\":%ld,\"completion_tokens\":%ld,\"held_us\":%12ld}"

static void render_stream(void)
{
    long chunks = (tokens + chunk_tokens - 1) / chunk_tokens;
    char *body;
    size_t size;
    stream_pieces = calloc((size_t)chunks + 1, sizeof *stream_pieces);
    stream_pieces[stream_count++] = http_chunk(
        "HTTP/1.1 200 OK\r\nserver: stub\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        "transfer-encoding: chunked\r\n\r\n",
        CHUNK_HEAD "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,"
        "\"finish_reason\":null}],\"prompt_token_ids\":null}\n\n");
    for (long from = 0; from < tokens; from += chunk_tokens) {
        long to = from + chunk_tokens < tokens ? from + chunk_tokens : tokens;
        FILE *out = open_memstream(&body, &size);
        fprintf(out, CHUNK_HEAD "{\"index\":0,\"delta\":{\"%s\":\"",
                from < tokens * REASONING_SHARE ? "reasoning" : "content");
        say(out, from, to);
        fprintf(out, "\"},\"logprobs\":null,\"finish_reason\":%s,\"token_ids\":null}]}\n\n",
                to == tokens ? "\"stop\",\"stop_reason\":null" : "null");
        fclose(out);
        stream_pieces[stream_count++] = http_chunk("", body);
        free(body);
    }
}

static size_t stream_tail(char *to, long held_us)
{
    char body[TAIL_MAX / 2];
    int len = snprintf(body, sizeof body, CHUNK_HEAD "]," USAGE "}\n\n",
                       PROMPT_TOKENS, PROMPT_TOKENS + tokens, tokens, held_us);
    return (size_t)snprintf(to, TAIL_MAX, "%x\r\n%s\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n", len, body);
}

static size_t whole_tail(char *to, long held_us)
{
    return (size_t)snprintf(to, TAIL_MAX, "," USAGE ",\"prompt_logprobs\":null,\"prompt_token_ids\":null}",
                            PROMPT_TOKENS, PROMPT_TOKENS + tokens, tokens, held_us);
}

static void render_whole(void)
{
    char *body, tail[TAIL_MAX];
    size_t size;
    long split = (long)(tokens * REASONING_SHARE);
    FILE *out = open_memstream(&body, &size);
    fputs("{\"id\":\"chatcmpl-8f14e45fceea167a5a36dedd4bea2543\",\"object\":\"chat.completion\","
          "\"created\":1760000000,\"model\":\"stub\",\"choices\":[{\"index\":0,\"message\":{"
          "\"role\":\"assistant\",\"content\":\"", out);
    say(out, split, tokens);
    fputs("\",\"refusal\":null,\"annotations\":null,\"audio\":null,\"function_call\":null,"
          "\"tool_calls\":[],\"reasoning\":\"", out);
    say(out, 0, split);
    fputs("\"},\"logprobs\":null,\"finish_reason\":\"stop\",\"stop_reason\":null,\"token_ids\":null}]", out);
    fclose(out);
    whole_piece.len = (size_t)asprintf(
        &whole_piece.data, "HTTP/1.1 200 OK\r\nserver: stub\r\ncontent-type: application/json\r\n"
        "content-length: %zu\r\n\r\n%s", size + whole_tail(tail, 0), body);
    free(body);
}
