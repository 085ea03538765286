/* page.h - shared by the parts of the HTML page: inputs, cells of their reports, text as HTML
 *
 * In: reports. Out: one page: headline, findings, pictures (head.c, pictures.c, diff.c), tables (html.c). Begin with
 * html.c.
 */
#ifndef HD_REPORT_HTML_PAGE_H
#define HD_REPORT_HTML_PAGE_H

#include "base/json/write.h"
#include "heddle/trace.h"
#include "report/html/html.h"

/* Limits that allow sending the page by mail: its total size, and that of the part before tables, which get the
 * rest. */
enum {
    HTML_PAGE_BYTES = 900 << 10,
    HTML_HEAD_BYTES = 500 << 10,
    HTML_MANY = 16 /* inputs: short sections, no tables */
};

/* The reports of one file, or of all files of a job. */
typedef struct html_input {
    const hd_report_part *parts;
    size_t count;
    int64_t rank; /* HD_NO_NUMBER: unknown */
} html_input;

typedef struct html_page {
    hd_json_out out;
    html_input *inputs; /* files, by rank */
    size_t count;
    html_input job;  /* count 0: none */
    bool is_summary; /* it has the report `summary` of each file, from which the headline is made */
    size_t tables;   /* that are still to be written, which share the room that is left */
} html_page;

/* A report of an input by its name; NULL: it has none. */
const hd_report_part *html_part(const html_input *input, const char *report);
/* A table of it; NULL: none, or without rows. */
const hd_table *html_table(const html_input *input, const char *report, const char *table);
/* HD_NO_NUMBER: null, or no such column. Decimals are rounded. */
int64_t html_number(const hd_table *table, size_t row, const char *column);
/* {NULL, 0}: null, or no such column. */
hd_string html_cell(const hd_table *table, size_t row, const char *column);

static inline void html_put(hd_json_out *out, const char *markup)
{
    hd_json_put_text(out, markup);
}
/* Text with HTML escaped; control characters and invalid UTF-8 become visible. */
void html_text(hd_json_out *out, hd_string text);
void html_words(hd_json_out *out, const char *text);
/* Numbers and markup that the page itself makes. */
__attribute__((format(printf, 2, 3))) void html_format(hd_json_out *out, const char *format, ...);
/* Three digits: "222 ms", "1.23 s". */
void html_duration(hd_json_out *out, int64_t ns);
/* What the devices of an input are called, of NULL those of all inputs: "GPU", "TPU"; "device": some differ. */
void html_device_kind(hd_json_out *out, const html_page *page, const html_input *input);
/* The name of a file without its folders. */
hd_string html_file(const char *path);
/* "rank 3", else the file's name; "" for a single input. */
void html_input_name(hd_json_out *out, const html_page *page, const html_input *input);

/* head.c */
void html_title(html_page *page);
void html_head(html_page *page);
/* The first things to do for one input; for all inputs those that save most, one per code. */
void html_findings(html_page *page, const html_input *inputs, size_t count);

/* pictures.c */
void html_timeline(html_page *page, const html_input *input);
void html_flame(html_page *page, const html_input *input);

/* diff.c: all above the tables of a diff; leaves a section open */
void html_diff(html_page *page, const hd_report_part *part);

#endif
