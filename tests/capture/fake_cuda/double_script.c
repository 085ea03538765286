/* double_script.c - TEST DOUBLE: what the script says, the truth log, and the end of who misuses CUPTI */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "double.h"

uint64_t double_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void double_misuse(const char *format, ...)
{
    char text[512];
    int size = snprintf(text, sizeof text, "fake CUDA: misuse: ");
    va_list list;
    va_start(list, format);
    size += vsnprintf(text + size, sizeof text - (size_t)size - 1, format, list);
    va_end(list);
    if (size > (int)sizeof text - 2) size = sizeof text - 2;
    text[size++] = '\n';
    ssize_t ignored = write(2, text, (size_t)size);
    (void)ignored;
    double_truth("{\"what\": \"misuse\"}");
    abort();
}

bool double_truth_wanted(void)
{
    return getenv("FAKE_CUDA_TRUTH") != NULL;
}

void double_truth(const char *format, ...)
{
    const char *path = getenv("FAKE_CUDA_TRUTH");
    if (!path) return;
    char text[1024];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text - 1, format, list);
    va_end(list);
    if (size > (int)sizeof text - 2) size = sizeof text - 2;
    text[size++] = '\n';
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return; /* a full disk is a test, too */
    ssize_t ignored = write(fd, text, (size_t)size);
    (void)ignored;
    close(fd);
}

void double_escape(char *out, size_t size, const char *text)
{
    size_t used = 0;
    for (; text && *text && used + 3 < size; text++) {
        if (*text == '"' || *text == '\\') out[used++] = '\\';
        out[used++] = *text;
    }
    out[used] = 0;
}

/* ---- the script ---- */

static void add_rule(double_rule *rules, unsigned *count, const char *function, int status, uint64_t value)
{
    if (*count == DOUBLE_RULES) double_misuse("too many rules in the script");
    double_rule *rule = &rules[(*count)++];
    snprintf(rule->function, sizeof rule->function, "%s", function);
    rule->status = status;
    rule->value = value;
}

static bool read_flags(double_script *s, const char *line)
{
    char how[32];
    unsigned long long n;
    if (strcmp(line, "subscriber-taken") == 0)
        s->subscriber_taken = true;
    else if (strcmp(line, "hold-back") == 0)
        s->hold_back = true;
    else if (strcmp(line, "late-calls-lost") == 0)
        s->late_calls_lost = true;
    else if (strcmp(line, "mps") == 0)
        s->mps = true;
    else if (strcmp(line, "mig") == 0)
        s->mig = true;
    else if (strcmp(line, "pthread-ids") == 0)
        s->pthread_ids = true;
    else if (sscanf(line, "order %31s", how) == 1)
        s->order = strcmp(how, "shuffled") == 0   ? DOUBLE_SHUFFLED
                   : strcmp(how, "reversed") == 0 ? DOUBLE_REVERSED
                                                  : DOUBLE_SORTED;
    else if (sscanf(line, "bad-times-every %llu %31s", &n, how) == 2) {
        s->bad_every = n;
        s->bad = strcmp(how, "zero") == 0 ? DOUBLE_ZERO : DOUBLE_REVERSED_TIMES;
    } else
        return false;
    return true;
}

static bool read_rules(double_script *s, const char *line)
{
    char name[56];
    int status, n;
    unsigned long long value = 1;
    if (sscanf(line, "fail %55s %d %llu", name, &status, &value) >= 2)
        add_rule(s->fails, &s->fail_count, name, status, value);
    else if (sscanf(line, "kill %55s %llu", name, &value) == 2)
        add_rule(s->fails, &s->fail_count, name, DOUBLE_KILL, value);
    else if (sscanf(line, "slow %55s %llu", name, &value) == 2)
        add_rule(s->slows, &s->slow_count, name, 0, value);
    else if (sscanf(line, "clock %lld %lf%n", (long long *)&s->clock_offset_ns, &s->clock_ppm, &n) != 2)
        return false;
    return true;
}

static bool read_numbers(double_script *s, const char *line)
{
    struct {
        const char *key;
        uint64_t *out;
    } wide[] = {{"latency", &s->latency_ns},
                {"kernel", &s->kernel_ns},
                {"copy", &s->copy_ns},
                {"buffer-records", &s->buffer_records},
                {"drop-every", &s->drop_every},
                {"unknown-every", &s->unknown_every},
                {"damaged-every", &s->damaged_every},
                {"overhead-every", &s->overhead_every}};
    char key[32];
    unsigned long long value;
    if (sscanf(line, "%31s %llu", key, &value) != 2) return false;
    if (strcmp(key, "version") == 0) return s->version = (uint32_t)value, true;
    if (strcmp(key, "devices") == 0) return s->devices = (uint32_t)value, value >= 1 && value <= DOUBLE_DEVICES;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strcmp(key, wide[i].key) == 0) return *wide[i].out = value, true;
    return false;
}

static double_script script = {.version = 130101, .devices = 2, .latency_ns = 3000, .kernel_ns = 2000, .copy_ns = 1000};

static void read_script(void)
{
    const char *path = getenv("FAKE_CUDA_SCRIPT");
    if (!path) return;
    FILE *file = fopen(path, "re");
    if (!file) double_misuse("cannot open the script %s: %s", path, strerror(errno));
    char line[200];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = 0;
        size_t size = strlen(line);
        while (size && line[size - 1] == ' ') line[--size] = 0;
        if (size && !read_flags(&script, line) && !read_rules(&script, line) && !read_numbers(&script, line))
            double_misuse("the script says '%s'", line);
    }
    fclose(file);
}

const double_script *double_script_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_script);
    return &script;
}
