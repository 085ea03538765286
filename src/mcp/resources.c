/* resources.c - the resources: built-in pages of the documentation, and the descriptors of reports */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/ends.h"
#include "heddle/options.h"
#include "mcp/impl.h"

#define DOCS "heddle://docs/"
#define REPORTS "heddle://reports/"

static void put_entry(hd_json_out *out, const char *scheme, const char *name, const char *title)
{
    char uri[200];
    hd_json_put_text(out, out->data && out->data[out->size - 1] == '[' ? "{" : ",{");
    snprintf(uri, sizeof uri, "%s%s", scheme, name);
    mcp_put_text(out, "uri", uri);
    mcp_put_text(out, "name", name);
    mcp_put_text(out, "title", title);
    mcp_put_text(out, "mimeType", "text/markdown");
    hd_json_put_text(out, "}");
}

void mcp_put_resources(hd_json_out *out)
{
    hd_json_put_text(out, "{\"resources\":[");
    for (const mcp_doc *doc = mcp_docs; doc->name; doc++) put_entry(out, DOCS, doc->name, doc->title);
    for (size_t i = 0; i < hd_report_count(); i++)
        if (!hd_report_at(i)->table_option) put_entry(out, REPORTS, hd_report_at(i)->name, hd_report_at(i)->title);
    hd_json_put_text(out, "]}");
}

/* ---- a report's page ---- */

static void put_line(hd_json_out *page, const char *name, const char *kind, const char *meaning)
{
    hd_json_put_text(page, "- `");
    hd_json_put_text(page, name);
    hd_json_put_text(page, "` (");
    hd_json_put_text(page, kind);
    hd_json_put_text(page, "): ");
    hd_json_put_text(page, meaning);
    hd_json_put_text(page, "\n");
}

static const char *type_name(hd_value_type type)
{
    static const char *const names[] = {
        [HD_VALUE_STRING] = "text",     [HD_VALUE_INT] = "number",     [HD_VALUE_COUNT] = "count",
        [HD_VALUE_DECIMAL] = "decimal", [HD_VALUE_BYTES] = "bytes",    [HD_VALUE_DURATION] = "duration, ns",
        [HD_VALUE_TIME] = "time, ns",   [HD_VALUE_BOOL] = "yes or no",
    };
    return names[type];
}

static void put_report(hd_json_out *page, const hd_report_about *about)
{
    hd_json_put_text(page, "# ");
    hd_json_put_text(page, about->name);
    hd_json_put_text(page, ": ");
    hd_json_put_text(page, about->title);
    hd_json_put_text(page, "\n\n");
    hd_json_put_text(page, about->text);
    hd_json_put_text(page, "\n\n## Options\n\n");
    for (const hd_option_about *o = about->options; o && o->name; o++)
        if (o->kind != HD_OPTION_TRACE) put_line(page, o->name, hd_option_kind_name(o->kind), o->meaning);
    for (const hd_report_table_about *t = about->tables; t->name; t++) {
        hd_json_put_text(page, "\n## Table ");
        hd_json_put_text(page, t->name);
        hd_json_put_text(page, "\n\n");
        hd_json_put_text(page, t->meaning);
        hd_json_put_text(page, "\n\n");
        for (const hd_report_column *c = t->columns; c->name; c++)
            put_line(page, c->name, type_name(c->type), c->meaning);
    }
}

/* ---- reading ---- */

static void put_contents(hd_json_out *out, const char *uri, const char *text, size_t size)
{
    hd_json_put_text(out, "{\"contents\":[{");
    mcp_put_text(out, "uri", uri);
    mcp_put_text(out, "mimeType", "text/markdown");
    mcp_put_key(out, "text");
    hd_json_put_string(out, text, size);
    hd_json_put_text(out, "}]}");
}

bool mcp_put_resource(hd_json_out *out, const char *uri)
{
    size_t size = strlen(uri);
    const hd_report_about *about =
        hd_starts_with(uri, size, REPORTS) ? hd_report_about_find(uri + strlen(REPORTS)) : NULL;
    if (about) {
        hd_json_out page = {0};
        put_report(&page, about);
        put_contents(out, uri, page.data ? page.data : "", page.size);
        out->failed |= page.failed;
        free(page.data);
        return true;
    }
    if (!hd_starts_with(uri, size, DOCS)) return false;
    for (const mcp_doc *doc = mcp_docs; doc->name; doc++) {
        if (strcmp(doc->name, uri + strlen(DOCS)) != 0) continue;
        put_contents(out, uri, doc->text, doc->size);
        return true;
    }
    return false;
}
