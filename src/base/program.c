/* program.c - another program, run to its end */
#include "base/program.h"

#include "base/error.h"
#include "base/system.h"

#if HD_HAS_PROGRAMS
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn(pid_t *out, const char *const *words)
{
    posix_spawn_file_actions_t files;
    int problem = posix_spawn_file_actions_init(&files);
    if (problem) return problem;
    problem = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!problem) problem = posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    if (!problem) problem = posix_spawnp(out, words[0], &files, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&files);
    return problem;
}

hd_status hd_program_run(const char *const *words, hd_error *err)
{
    pid_t pid, ended;
    int status = 0, problem = spawn(&pid, words);
    if (problem)
        return hd_error_set(err, problem == ENOENT ? HD_ERR_UNSUPPORTED : HD_ERR_IO, NULL, HD_OFFSET_NONE,
                            problem == ENOENT ? "%s is not on PATH" : "cannot run %s: %s", words[0], strerror(problem));
    do ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "cannot wait for %s: %s", words[0], strerror(errno));
    if (WIFSIGNALED(status))
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "%s was ended by signal %d", words[0],
                            WTERMSIG(status));
    if (WEXITSTATUS(status) == 0) return HD_OK;
    return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "%s ended with status %d", words[0], WEXITSTATUS(status));
}
#else
hd_status hd_program_run(const char *const *words, hd_error *err)
{
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "%s cannot be run: there are no programs here",
                        words[0]);
}
#endif
