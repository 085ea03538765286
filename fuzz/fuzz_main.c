/* fuzz_main.c - runs a fuzz target over the files of its corpus, in builds without libFuzzer
 *
 * usage: fuzz_NAME DIRECTORY_OR_FILE...   A crash or a sanitizer report is the failure.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    if (failed)
        fprintf(stderr, "%s: cannot be read\n", path);
    else
        LLVMFuzzerTestOneInput(data, size);
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
