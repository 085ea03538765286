/* thread_waits.c - names of slices in which a thread waits for another one */
#include "model/roles/thread_waits.h"

#include <string.h>

static const char *find(const char *from, const char *end, const char *part)
{
    return memmem(from, (size_t)(end - from), part, strlen(part));
}

static bool is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "## backward ##", "torch/_tensor.py(5): backward", but not aten::convolution_backward, which is an operator. */
static bool has_backward(const char *from, const char *end)
{
    static const char word[] = "backward";
    for (const char *at = from; (at = find(at, end, word)) != NULL; at++) {
        const char *next = at + sizeof word - 1;
        bool is_word = (at == from || !is_of_word(at[-1])) && (next == end || !is_of_word(*next));
        if (is_word || (at - from >= 4 && !memcmp(at - 4, "run_", 4))) return true;
    }
    return false;
}

bool hd_waits_for_thread(hd_string name)
{
    /* Both parts in order: a file of Python's library and its function; or one part. */
    static const char *const waits[][2] = {
        {"threading.py(", "): join"},
        {"threading.py(", "): wait"},
        {"queue.py(", "): get"},
        {"futures/_base.py(", "): wait"},
        {"futures/_base.py(", "): result"},
        {"method acquire of _thread.", ""},
        {"method join of _thread.", ""},
        {"method get of _queue.", ""},
        {"Thread.join", ""},
        {"Queue.get", ""},
        {"Future.result", ""},
        {"aten::wait", ""},
        {"pthread_join", ""},
        {"pthread_cond_wait", ""},
        {"sem_wait", ""},
    };
    const char *end = name.data + name.size;
    if (!name.data) return false;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const char *at = find(name.data, end, waits[i][0]);
        if (at && find(at, end, waits[i][1])) return true;
    }
    return has_backward(name.data, end);
}
