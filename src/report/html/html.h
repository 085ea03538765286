/* html.h - reports as one page; its scripts and style sheet are charts.js, html.js, html.css */
#ifndef HD_REPORT_HTML_H
#define HD_REPORT_HTML_H

#include "heddle/report.h"

extern const char report_charts[];
extern const size_t report_charts_size;
extern const char report_js[];
extern const size_t report_js_size;
extern const char report_css[];
extern const size_t report_css_size;

/* The descriptor of a table, NULL for one that is not in the report's description. */
const hd_report_table_about *report_table_about(const hd_report_about *about, const char *table);

hd_status report_print_html(hd_sink sink, const hd_report_part *parts, size_t count, hd_error *err);

#endif
