/* edit.h - lines of a terminal, with history and completion: by libedit (edit.c), or plain (edit_plain.c) */
#ifndef HD_CLI_QUERY_EDIT_H
#define HD_CLI_QUERY_EDIT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct editor editor;

/* Completions for line[from … at), with the cursor at `at`: the list's texts are borrowed until the next call; NULL at
 * its end. Sets *from. */
typedef const char *const *editor_complete(void *user, const char *line, size_t at, size_t *from);

typedef enum editor_read_result { EDITOR_LINE, EDITOR_CANCELLED, EDITOR_END } editor_read_result;

/* `history`: the file with earlier lines; NULL: none. NULL: no memory. */
editor *editor_new(const char *history, editor_complete *complete, void *user);
void editor_free(editor *editor); /* writes the history; NULL is fine */
/* A line without its newline, which lives until the next call. CANCELLED: Ctrl-C. END: Ctrl-D, or input ended. */
editor_read_result editor_read(editor *editor, const char *prompt, const char **line);
void editor_remember(editor *editor, const char *text);

#endif
