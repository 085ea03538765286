/* fuzz_otf2.c - libFuzzer target: whole OTF2 archives
 *
 * The input is a list of files, each a byte for its name, two for its size (little endian; what is missing is left out)
 * and its bytes; fuzz/otf2/pack_otf2.py makes one of an archive. They are laid out in a folder in memory (/dev/shm) or
 * $TMPDIR, since the OTF2 library reads from disk. Properties: reading ends with a trace, or with an error that says
 * why; a trace can be written and read again as a store, with as many events, and as an archive.
 *
 * The library itself dies of some files (a wild pointer, an assertion). That is not what is looked for: a signal whose
 * place is in the library ends the input, not the run.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read_text.h"

/* libotf2 3.0 forgets the members of a definition that it finds damaged. What we forget is still told. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libopen-trace-format2.so\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"traces.otf2",  "traces.def",   "traces.marker", "traces/0.def",
                                    "traces/0.evt", "traces/1.def", "traces/1.evt",  "traces/2.def",
                                    "traces/2.evt", "traces/3.def", "traces/3.evt",  "traces/4.def",
                                    "traces/4.evt", "traces/5.def", "traces/5.evt",  "traces/4294967296.evt"};

enum { NAMES = sizeof names / sizeof *names, SIZE_LIMIT = 1 << 16 };

static char folder[64];
static sigjmp_buf behind;
static volatile sig_atomic_t reads;

static void require(bool holds)
{
    if (!holds) abort();
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

static void remove_folder(void)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void path_of(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", folder, name);
}

/* Whether the frame that failed, behind libc's own, is the OTF2 library's. */
static void died(int signal_number)
{
    enum { FRAMES = 32 };
    void *frames[FRAMES];
    Dl_info info;
    int count = reads ? backtrace(frames, FRAMES) : 0;
    for (int i = 1; i < count; i++) {
        if (!dladdr(frames[i], &info) || !info.dli_fname || strstr(info.dli_fname, "libc.so")) continue;
        if (strstr(info.dli_fname, "libotf2")) siglongjmp(behind, 1);
        if (i > 2) break; /* the first is this function, or what calls it for the sanitizer */
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void set_up(void)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.32s/heddle-fuzz-XXXXXX", base ? base : "/tmp");
    require(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    void *warm[1];
    backtrace(warm, 1); /* loads what it needs */
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = died, .sa_flags = SA_NODEFER};
        sigaction(signals[i], &action, NULL);
    }
}

static void lay_out(const uint8_t *data, size_t size)
{
    char path[128];
    path_of(path, "traces");
    mkdir(path, 0700);
    while (size > 3) {
        size_t bytes = (size_t)data[1] | (size_t)data[2] << 8;
        path_of(path, names[*data % NAMES]);
        data += 3;
        size -= 3;
        if (bytes > size) bytes = size;
        FILE *file = fopen(path, "wb");
        require(file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
        data += bytes;
        size -= bytes;
    }
}

static void require_kept(const hd_trace *trace)
{
    static const hd_write_options store = {.format = "heddle", .threads = 1},
                                  archive = {.format = "otf2", .threads = 1};
    size_t size;
    hd_trace *again;
    char path[128], *bytes = write_text(trace, &store, &size);
    require(read_text(&again, bytes, size, &read_fast_strict, 0, NULL) == HD_OK);
    require(hd_trace_event_count(again) == hd_trace_event_count(trace));
    free(bytes);
    hd_trace_free(again);
    path_of(path, "again");
    hd_error err = {0};
    if (hd_trace_write(trace, path, &archive, &err) != HD_OK) require(err.message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[128];
    hd_trace *trace = NULL;
    hd_error err = {0};
    if (size > SIZE_LIMIT) return 0;
    if (!folder[0]) set_up();
    mkdir(folder, 0700);
    lay_out(data, size);
    path_of(path, names[0]);
    hd_status status = HD_ERR_DAMAGED;
    reads = 1;
    if (sigsetjmp(behind, 1) == 0) {
        status = hd_trace_read(&trace, path, &read_fast, &err);
        require(status == HD_OK || err.message[0]);
        if (status == HD_OK) require_kept(trace);
    }
    reads = 0;
    if (status == HD_OK) hd_trace_free(trace);
    remove_folder();
    return 0;
}
