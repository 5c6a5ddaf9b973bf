/*
 * A server that costs next to nothing, so that what is measured is the client.
 *
 * It speaks as much of the OpenAI protocol as a benchmark needs: chat completions, whole or
 * streamed, in vLLM's shape (stub_answers.h). One thread, one epoll loop.
 *
 *     cc -O2 -Wall -Wextra -o stub stub.c && ./stub --tokens 1263 --chunk-tokens 1
 *
 * --port N          0 (default) takes a free one; the first line of output is the port
 * --tokens N        length of every answer
 * --chunk-tokens N  tokens in a chunk of a stream
 * --hold-ms N       time until an answer begins, spread evenly from half of N to one and a half
 * --step-ms N       time between two chunks of a stream; 0: all streams in turn, as fast as it goes
 *
 * usage.held_us of an answer says how long the server itself held the request: what a client took
 * beyond that is its own. A journal keeps the usage, so that ours can be read from its records.
 *
 * GET /stats gives, as JSON, what was seen; refill_us are the times from the last byte of an answer
 * to the next request on its connection.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "stub_answers.h"

struct conn {
    int fd;
    char *in;
    size_t in_len, in_cap;
    bool busy, stream, blocked, answered;
    int next;                       /* the piece that is sent next */
    size_t offset;                  /* of it, already sent */
    int64_t received, due, ended;   /* ns */
    char tail[TAIL_MAX];            /* the last piece: the only one that differs */
    size_t tail_len;
    int place;                      /* in busy[] */
};

static long hold_ms, step_ms, port;
static int epoll_fd;
static struct conn **busy;
static int busy_count, busy_cap, peak;
static uint64_t requests, connections;
static uint32_t *refills;
static size_t refill_count, refill_cap;

static void *grow(void *memory, size_t bytes)
{
    if (!(memory = realloc(memory, bytes)))
        exit(1);
    return memory;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void watch(struct conn *c, int how, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};
    epoll_ctl(epoll_fd, how, c->fd, &e);
}

static void set_busy(struct conn *c)
{
    if (busy_count == busy_cap)
        busy = grow(busy, (size_t)(busy_cap = busy_cap * 2 + 64) * sizeof *busy);
    c->busy = true;
    busy[c->place = busy_count++] = c;
    if (busy_count > peak)
        peak = busy_count;
}

static void set_idle(struct conn *c)
{
    busy[c->place] = busy[--busy_count];
    busy[c->place]->place = c->place;
    c->busy = false;
}

static void drop(struct conn *c)
{
    if (c->busy)
        set_idle(c);
    close(c->fd);
    free(c->in);
    free(c);
}

/* Send the next piece. False: the connection is gone. */
static bool send_next(struct conn *c)
{
    int last = c->stream ? stream_count : 1;
    struct piece p = c->next == last ? (struct piece){c->tail, c->tail_len}
                   : c->stream       ? stream_pieces[c->next] : whole_piece;
    int more = c->stream ? 0 : c->next < last ? MSG_MORE : 0;
    ssize_t n = send(c->fd, p.data + c->offset, p.len - c->offset, MSG_NOSIGNAL | more);
    if (n < 0 && errno != EAGAIN) {
        drop(c);
        return false;
    }
    if (n > 0)
        c->offset += (size_t)n;
    if (c->offset < p.len) {
        c->blocked = true;
        watch(c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
        return true;
    }
    c->offset = 0;
    c->due += step_ms * 1000000;
    if (c->next++ == last) {
        c->ended = now_ns();
        c->answered = true;
        set_idle(c);
    } else if (!c->stream) {
        return send_next(c);
    }
    return true;
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void small_answer(struct conn *c, const char *status, const char *body)
{
    char out[1024];
    int len = snprintf(out, sizeof out, "HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s",
                       status, strlen(body), body);
    if (send(c->fd, out, (size_t)len, MSG_NOSIGNAL) != len)
        shutdown(c->fd, SHUT_RDWR);
}

static void answer_page(struct conn *c, const char *head)
{
    char body[512] = "";
    if (!strncmp(head, "GET /stats ", 11)) {
        struct rusage use;
        getrusage(RUSAGE_SELF, &use);
        qsort(refills, refill_count, sizeof *refills, by_size);
        snprintf(body, sizeof body,
                 "{\"requests\":%lu,\"connections\":%lu,\"in_flight_peak\":%d,\"stub_cpu_s\":%.3f,"
                 "\"refills\":%zu,\"refill_us_p50\":%u,\"refill_us_p99\":%u}",
                 requests, connections, peak,
                 (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6,
                 refill_count, refill_count ? refills[refill_count / 2] : 0,
                 refill_count ? refills[refill_count * 99 / 100] : 0);
    } else if (!strncmp(head, "GET /v1/models ", 15)) {
        strcpy(body, "{\"object\":\"list\",\"data\":[{\"id\":\"stub\",\"object\":\"model\",\"max_model_len\":32768}]}");
    } else if (!strncmp(head, "GET /metrics ", 13)) {
        snprintf(body, sizeof body, "vllm:num_requests_running %d\nvllm:num_requests_waiting 0\n"
                 "vllm:generation_tokens_total %lu\n", busy_count, requests * (uint64_t)tokens);
    } else if (strncmp(head, "GET /health ", 12)) {
        small_answer(c, "404 Not Found", "{\"detail\":\"Not Found\"}");
        return;
    }
    small_answer(c, "200 OK", body);
}

static void start_answer(struct conn *c, const char *body, size_t len)
{
    static uint32_t luck = 12345;
    c->received = now_ns();
    if (c->answered) {
        if (refill_count == refill_cap)
            refills = grow(refills, (refill_cap = refill_cap * 2 + 4096) * sizeof *refills);
        refills[refill_count++] = (uint32_t)((c->received - c->ended) / 1000);
    }
    c->answered = false;
    c->stream = memmem(body, len, "\"stream\":true", 13) || memmem(body, len, "\"stream\": true", 14);
    c->next = 0;
    luck = luck * 1664525u + 1013904223u;
    int64_t hold = hold_ms * 500000 + (int64_t)((luck >> 8) % 1000) * hold_ms * 1000;
    c->due = c->received + hold;
    long held_us = (long)((hold + (c->stream ? stream_count * step_ms * 1000000 : 0)) / 1000);
    c->tail_len = c->stream ? stream_tail(c->tail, held_us) : whole_tail(c->tail, held_us);
    requests++;
    set_busy(c);
}

/* Requests of a connection come one after the other; what is not whole yet waits. */
static void receive(struct conn *c)
{
    if (c->in_cap - c->in_len < 4096)
        c->in = grow(c->in, c->in_cap = c->in_cap * 2 + 8192);
    ssize_t n = recv(c->fd, c->in + c->in_len, c->in_cap - c->in_len - 1, 0);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN)
            drop(c);
        return;
    }
    c->in[c->in_len += (size_t)n] = 0;
    char *end = memmem(c->in, c->in_len, "\r\n\r\n", 4);
    if (!end)
        return;
    char *length = strcasestr(c->in, "\r\ncontent-length:");
    size_t head = (size_t)(end + 4 - c->in), body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    if (c->in_len < head + body)
        return;
    c->in_len = 0;
    if (!strncmp(c->in, "POST /v1/chat/completions ", 26))
        start_answer(c, c->in + head, body);
    else
        answer_page(c, c->in);
}

static void take_connections(int listener)
{
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct conn *c = calloc(1, sizeof *c);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        c->fd = fd;
        connections++;
        watch(c, EPOLL_CTL_ADD, EPOLLIN);
    }
}

/* Send what is due; ms until the next piece is. */
static int send_due(void)
{
    int64_t now = now_ns(), next = INT64_MAX;
    for (int i = busy_count - 1; i >= 0; i--) { /* backwards: what goes idle is filled from the end */
        struct conn *c = busy[i];
        if (!c->blocked && c->due <= now && (!send_next(c) || !c->busy))
            continue;
        if (!c->blocked && c->due < next)
            next = c->due;
    }
    return next == INT64_MAX ? -1 : next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

static int listen_on(long wanted)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)wanted),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(fd, (struct sockaddr *)&at, size) || listen(fd, 8192) || getsockname(fd, (struct sockaddr *)&at, &size)) {
        perror("stub");
        exit(1);
    }
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv)
{
    const struct { const char *name; long *value; } options[] = {
        {"--port", &port}, {"--tokens", &tokens}, {"--chunk-tokens", &chunk_tokens},
        {"--hold-ms", &hold_ms}, {"--step-ms", &step_ms}};
    for (int i = 1; i + 1 < argc; i += 2)
        for (size_t o = 0; o < sizeof options / sizeof *options; o++)
            if (!strcmp(argv[i], options[o].name))
                *options[o].value = atol(argv[i + 1]);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    render_stream();
    render_whole();
    epoll_fd = epoll_create1(0);
    int listener = listen_on(port), wait_ms = -1;
    struct epoll_event accepts = {.events = EPOLLIN, .data.ptr = NULL}, events[512];
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &accepts);
    for (;;) {
        int count = epoll_wait(epoll_fd, events, 512, wait_ms);
        for (int i = 0; i < count; i++) {
            struct conn *c = events[i].data.ptr;
            if (!c) {
                take_connections(listener);
            } else {
                if (c->blocked && (events[i].events & EPOLLOUT)) {
                    c->blocked = false;
                    watch(c, EPOLL_CTL_MOD, EPOLLIN);
                }
                if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                    receive(c);
            }
        }
        wait_ms = send_due();
    }
}
