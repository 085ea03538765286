/* edit.c - lines of a terminal by libedit: history in a file, completion by Tab, Ctrl-R searches, Ctrl-C cancels */
#include "cli/commands/query/edit.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_ENTRIES = 1000, LISTED = 60 };

struct editor {
    EditLine *edit;
    History *history;
    char *path;
    const char *prompt;
    char *line;
    editor_complete *complete;
    void *user;
    sigset_t waiting; /* the signals that are blocked while it waits for a key: not SIGINT */
};

static char *prompt_of(EditLine *edit)
{
    editor *e;
    el_get(edit, EL_CLIENTDATA, &e);
    return (char *)e->prompt;
}

/* ---- completion ---- */

static size_t common_size(const char *const *list)
{
    size_t size = strlen(list[0]);
    for (size_t i = 1; list[i]; i++) {
        size_t same = 0;
        while (same < size && list[i][same] == list[0][same]) same++;
        size = same;
    }
    return size;
}

static void print_list(const char *const *list)
{
    size_t count = 0;
    putchar('\n');
    for (; list[count] && count < LISTED; count++) printf("%s%s", count ? "  " : "", list[count]);
    if (list[count]) printf("  …");
    putchar('\n');
    fflush(stdout);
}

/* As much as all candidates have in common; if that is nothing more, they are listed. */
static unsigned char complete_word(EditLine *edit, int key)
{
    editor *e;
    (void)key;
    el_get(edit, EL_CLIENTDATA, &e);
    const LineInfo *info = el_line(edit);
    size_t at = (size_t)(info->cursor - info->buffer), from = at;
    char *line = strndup(info->buffer, (size_t)(info->lastchar - info->buffer));
    const char *const *list = line ? e->complete(e->user, line, at, &from) : NULL;
    unsigned char result = CC_REFRESH_BEEP;
    if (list && list[0]) {
        size_t typed = at - from, size = common_size(list);
        bool is_only = !list[1];
        if (is_only || size > typed) {
            char *text = NULL;
            if (asprintf(&text, "%.*s%s", (int)size, list[0], is_only && list[0][size - 1] != '(' ? " " : "") >= 0) {
                el_deletestr(edit, (int)typed);
                result = el_insertstr(edit, text) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
                free(text);
            }
        } else {
            print_list(list);
            result = CC_REDISPLAY;
        }
    }
    free(line);
    return result;
}

/* ---- keys ---- */

static volatile sig_atomic_t was_cancelled;

static void note_cancelled(int number)
{
    (void)number;
    was_cancelled = 1;
}

/* SIGINT comes in ppoll alone, so that none is lost between a look at the flag and the wait. */
static bool wait_for_key(const editor *e)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int found;
    do {
        found = ppoll(&input, 1, NULL, &e->waiting);
    } while (found < 0 && errno == EINTR && !was_cancelled);
    return found > 0 && !was_cancelled;
}

/* The editor's EL_GETCFN: a character; bytes that are none are left out. 0: input ended; -1: Ctrl-C. */
static int read_key(EditLine *edit, wchar_t *out)
{
    editor *e;
    mbstate_t state = {0};
    char byte;
    el_get(edit, EL_CLIENTDATA, &e);
    while (wait_for_key(e)) {
        ssize_t got = read(STDIN_FILENO, &byte, 1);
        if (got <= 0) return (int)got;
        size_t size = mbrtowc(out, &byte, 1, &state);
        if (size <= 1) return 1;
        if (size == (size_t)-1) state = (mbstate_t){0};
    }
    return -1;
}

/* ---- the editor ---- */

/* Makes the folders above a file, readable by the user only. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static void open_history(editor *e, const char *path)
{
    HistEvent event;
    e->history = history_init();
    if (!e->history) return;
    history(e->history, &event, H_SETSIZE, HISTORY_ENTRIES);
    history(e->history, &event, H_SETUNIQUE, 1);
    el_set(e->edit, EL_HIST, history, e->history);
    e->path = path ? strdup(path) : NULL;
    if (e->path) history(e->history, &event, H_LOAD, e->path);
}

editor *editor_new(const char *path, editor_complete *complete, void *user)
{
    editor *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    setlocale(LC_CTYPE, "");
    e->complete = complete;
    e->user = user;
    e->edit = el_init("heddle", stdin, isatty(STDOUT_FILENO) ? stdout : stderr, stderr);
    if (!e->edit) {
        free(e);
        return NULL;
    }
    el_set(e->edit, EL_CLIENTDATA, e);
    el_set(e->edit, EL_PROMPT, prompt_of);
    el_set(e->edit, EL_EDITOR, "emacs");
    el_set(e->edit, EL_SIGNAL, 0);
    el_wset(e->edit, EL_GETCFN, read_key);
    el_wset(e->edit, EL_ADDFN, L"complete-sql", L"Complete a name", complete_word); /* el_set would leak copies */
    el_set(e->edit, EL_BIND, "^I", "complete-sql", NULL);
    el_set(e->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    open_history(e, path);
    el_source(e->edit, NULL); /* ~/.editrc */
    return e;
}

void editor_free(editor *e)
{
    HistEvent event;
    if (!e) return;
    if (e->path) {
        mode_t mask = umask(077);
        make_folders(e->path);
        history(e->history, &event, H_SAVE, e->path);
        umask(mask);
    }
    if (e->history) history_end(e->history);
    el_end(e->edit);
    free(e->path);
    free(e->line);
    free(e);
}

editor_read_result editor_read(editor *e, const char *prompt, const char **line)
{
    struct sigaction action = {.sa_handler = note_cancelled}, before;
    sigset_t interrupt, mask;
    int size = 0;
    was_cancelled = 0;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &mask);
    e->waiting = mask;
    sigdelset(&e->waiting, SIGINT);
    sigaction(SIGINT, &action, &before);
    e->prompt = prompt;
    const char *got = el_gets(e->edit, &size);
    sigaction(SIGINT, &before, NULL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (was_cancelled) {
        el_reset(e->edit);
        fputs("^C\n", stdout);
        fflush(stdout);
        return EDITOR_CANCELLED;
    }
    if (!got || size <= 0) {
        putchar('\n');
        return EDITOR_END;
    }
    free(e->line);
    e->line = strndup(got, strcspn(got, "\n"));
    *line = e->line ? e->line : "";
    return EDITOR_LINE;
}

void editor_remember(editor *e, const char *text)
{
    HistEvent event;
    if (e->history) history(e->history, &event, H_ENTER, text);
}
