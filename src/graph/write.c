/* write.c - writes a graph as a file, whole or not at all; pictures are drawn by Graphviz, if installed */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/output.h"
#include "base/io/temporary.h"
#include "base/program.h"
#include "base/text/ends.h"
#include "heddle/analysis/graph.h"

enum { DRAWN_BYTES = 1 << 20, PIECE_BYTES = 1 << 16 }; /* Graphviz takes a minute for a drawing of that size */

typedef struct writer {
    hd_output *output;
    hd_error *err;
} writer;

static hd_status write_some(void *user, const char *data, size_t size)
{
    writer *w = user;
    return hd_output_write(w->output, data, size, w->err);
}

static hd_status write_graph(const char *path, const hd_graph *graph, hd_graph_format format, const hd_graph_view *view,
                             uint64_t *out_bytes, hd_error *err)
{
    writer w = {.err = err};
    HD_TRY(hd_output_create(&w.output, path, NULL, err));
    hd_status status = hd_graph_print((hd_sink){write_some, &w}, graph, format, view, err);
    *out_bytes = hd_output_position(w.output);
    if (status == HD_OK) return hd_output_commit(w.output, err);
    hd_output_abort(w.output);
    return status;
}

/* ---- pictures ---- */

static hd_status copy_file(const char *path, const char *from, hd_error *err)
{
    hd_input *in;
    hd_output *out;
    char piece[PIECE_BYTES];
    size_t size = 0;
    HD_TRY(hd_input_open(&in, from, NULL, err));
    hd_status status = hd_output_create(&out, path, NULL, err);
    if (status == HD_OK) {
        do {
            status = hd_input_next(in, piece, sizeof piece, &size, err);
            if (status == HD_OK && size) status = hd_output_write(out, piece, size, err);
        } while (status == HD_OK && size);
        if (status == HD_OK || status == HD_END)
            status = hd_output_commit(out, err);
        else
            hd_output_abort(out);
    }
    hd_input_close(in);
    return status;
}

static hd_status draw(const char *picture, const char *dot, hd_error *err)
{
    const char *const words[] = {"dot", "-Tsvg", "-o", picture, dot, NULL};
    hd_error why = {0};
    hd_status status = hd_program_run(words, &why);
    if (status == HD_ERR_UNSUPPORTED)
        return hd_error_set(
            err, status, NULL, HD_OFFSET_NONE,
            "Graphviz draws pictures, and its program dot is not on PATH: install the package graphviz, "
            "or write .dot and draw it elsewhere: dot -Tsvg");
    if (status != HD_OK && err) *err = why;
    return status;
}

static hd_status write_picture(const char *path, const hd_graph *graph, const hd_graph_view *view, hd_error *err)
{
    int file;
    char *dot, *picture;
    uint64_t bytes;
    HD_TRY(hd_temporary_file(&file, &dot, ".dot", err));
    close(file);
    hd_status status = hd_temporary_file(&file, &picture, ".svg", err);
    if (status == HD_OK) {
        close(file);
        status = write_graph(dot, graph, HD_GRAPH_DOT, view, &bytes, err);
        if (status == HD_OK && bytes > DRAWN_BYTES)
            status = hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                                  "too much for Graphviz to draw, and for anybody to look at: take a step, a time or "
                                  "what is around an event");
        if (status == HD_OK) status = draw(picture, dot, err);
        if (status == HD_OK) status = copy_file(path, picture, err);
        unlink(picture);
        free(picture);
    }
    unlink(dot);
    free(dot);
    return status;
}

/* ---- by name ---- */

hd_status hd_graph_write(const char *path, const hd_graph *graph, const hd_graph_view *view, hd_error *err)
{
    static const struct {
        const char *end;
        hd_graph_format format;
    } formats[] = {{".txt", HD_GRAPH_TEXT},
                   {".json", HD_GRAPH_JSON},
                   {".dot", HD_GRAPH_DOT},
                   {".gv", HD_GRAPH_DOT},
                   {".et", HD_GRAPH_EXECUTION_TRACE}};
    size_t size = strlen(path);
    uint64_t bytes;
    if (hd_ends_with(path, size, ".svg")) return write_picture(path, graph, view, err);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (hd_ends_with(path, size, formats[i].end))
            return write_graph(path, graph, formats[i].format, view, &bytes, err);
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE, "is none of .txt, .json, .dot, .gv, .svg, .et");
}
