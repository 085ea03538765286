/* page.c - the files of the web UI, found by path */
#include "view/server/page.h"

#include <string.h>

const view_page_file *view_page_find(const char *path)
{
    if (strcmp(path, "/") == 0) path = "/index.html";
    for (const view_page_file *file = view_page_files; file->path; file++) {
        if (strcmp(file->path, path) == 0) return file;
    }
    return NULL;
}
