/* compat.c - functions of a C library that wasi-libc lacks, and the engine's import */
#include "wasm/compat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sorted.h"
#include "view/engine/engine.h"

int fchown(int fd, uid_t owner, gid_t group)
{
    (void)fd, (void)owner, (void)group;
    return 0; /* files have no owners */
}

int madvise(void *at, size_t size, int advice)
{
    (void)at, (void)size, (void)advice;
    return 0;
}

/* Fills the six X, which end `suffix_size` bytes before the end. */
static void number_name(char *path, int suffix_size)
{
    static uint32_t last;
    char digits[8];
    snprintf(digits, sizeof digits, "%06x", (unsigned)(last++ & 0xffffff));
    memcpy(path + strlen(path) - (size_t)suffix_size - 6, digits, 6);
}

int mkostemps(char *path, int suffix_size, int flags)
{
    number_name(path, suffix_size);
    return open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
}

char *mkdtemp(char *path)
{
    number_name(path, 0);
    return mkdir(path, 0700) == 0 ? path : NULL;
}

static int (*compare_with)(const void *, const void *, void *);
static void *compare_user;

static int compare_two(const void *a, const void *b)
{
    return compare_with(a, b, compare_user);
}

/* One thread, and no sort within a sort. */
void qsort_r(void *list, size_t count, size_t size, int (*compare)(const void *, const void *, void *), void *user)
{
    compare_with = compare;
    compare_user = user;
    hd_sort(list, count, size, compare_two);
}

__attribute__((import_module("heddle"), import_name("news"))) void imported_news(void);

static void on_news(void *user)
{
    (void)user;
    imported_news();
}

/* `news` of an engine is the function "news" of the module "heddle", which the caller of WebAssembly imports. */
void hd_engine_follow(hd_engine *engine); /* for the caller of WebAssembly, as what meson.build lists */
void hd_engine_follow(hd_engine *engine)
{
    hd_engine_on_news(engine, on_news, NULL);
}
