/* fuzz_main.c - runs a fuzz target over the files of its corpus, in builds without libFuzzer
 *
 * usage: fuzz_NAME DIRECTORY_OR_FILE...   A crash or a sanitizer report is the failure; the input is named then.
 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input that runs, for tools/test_summary.py: it makes a command of the name. */
static const char *running;

static void name_input(void)
{
    static const char said[] = "failed input: ";
    if (!running || write(2, said, sizeof said - 1) < 0 || write(2, running, strlen(running)) < 0) return;
    (void)!write(2, "\n", 1);
    running = NULL;
}

/* Before the report of a sanitizer; where there is none, this function is not there. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void name_input_of_signal(int number)
{
    name_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void name_inputs_that_fail(void)
{
    static const int signals[] = {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(name_input);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction is;
        if (sigaction(signals[i], NULL, &is) == 0 && is.sa_handler == SIG_DFL) signal(signals[i], name_input_of_signal);
    }
}

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info) != 0) {
        perror(path);
        if (file) fclose(file);
        return 1;
    }
    size_t size = (size_t)info.st_size;
    /* Exactly as many bytes as the input has, so that the sanitizer sees a read past the end. */
    uint8_t *data = size ? malloc(size) : NULL;
    int failed = size && (!data || fread(data, 1, size, file) != size);
    fclose(file);
    if (failed) {
        fprintf(stderr, "%s: cannot be read\n", path);
    } else {
        running = path;
        LLVMFuzzerTestOneInput(data, size);
        running = NULL;
    }
    free(data);
    return failed;
}

static int run_directory(const char *path, unsigned *count)
{
    struct dirent **entries = NULL;
    int found = scandir(path, &entries, NULL, alphasort);
    int failed = 0;
    if (found < 0) {
        perror(path);
        return 1;
    }
    for (int i = 0; i < found; i++) {
        if (entries[i]->d_name[0] != '.') {
            char child[4096];
            snprintf(child, sizeof child, "%s/%s", path, entries[i]->d_name);
            failed |= run_file(child);
            ++*count;
        }
        free(entries[i]);
    }
    free(entries);
    return failed;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    int failed = 0;
    name_inputs_that_fail();
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode)) {
            failed |= run_directory(argv[i], &count);
        } else {
            failed |= run_file(argv[i]);
            count++;
        }
    }
    if (count == 0) {
        fprintf(stderr, "no input: the corpus is empty or was not named\n");
        return 1;
    }
    printf("%u input(s) run\n", count);
    return failed;
}
