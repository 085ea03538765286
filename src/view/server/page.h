/* page.h - the files of the page, which the build puts into the library (tools/embed_page.py) */
#ifndef HD_VIEW_SERVER_PAGE_H
#define HD_VIEW_SERVER_PAGE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct view_page_file {
    const char *path; /* "/page.js"; "/index.html" is "/" as well */
    const char *type; /* of its content */
    const unsigned char *data;
    size_t size;
    bool gzip; /* data is compressed */
} view_page_file;

extern const view_page_file view_page_files[]; /* ends with {0}; empty in a build without the page */

/* NULL: there is none of that path. */
const view_page_file *view_page_find(const char *path);

#endif
