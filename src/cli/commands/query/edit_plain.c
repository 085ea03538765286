/* edit_plain.c - lines of a terminal as the terminal itself edits them */
#include "cli/commands/query/edit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct editor {
    char *line;
    size_t capacity;
};

editor *editor_new(const char *history, editor_complete *complete, void *user)
{
    (void)history, (void)complete, (void)user;
    return calloc(1, sizeof(editor));
}

void editor_free(editor *e)
{
    if (e) free(e->line);
    free(e);
}

static void ignore_signal(int number)
{
    (void)number; /* it ends the reading */
}

editor_read_result editor_read(editor *e, const char *prompt, const char **line)
{
    struct sigaction action = {.sa_handler = ignore_signal}, before;
    fputs(prompt, stdout);
    fflush(stdout);
    sigaction(SIGINT, &action, &before);
    errno = 0;
    ssize_t size = getline(&e->line, &e->capacity, stdin);
    bool is_cancelled = size < 0 && errno == EINTR;
    sigaction(SIGINT, &before, NULL);
    if (size < 0) putchar('\n');
    if (is_cancelled) clearerr(stdin);
    if (size < 0) return is_cancelled ? EDITOR_CANCELLED : EDITOR_END;
    if (size && e->line[size - 1] == '\n') e->line[size - 1] = '\0';
    *line = e->line;
    return EDITOR_LINE;
}

void editor_remember(editor *e, const char *text)
{
    (void)e, (void)text;
}
