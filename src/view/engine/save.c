/* save.c - the web UI, the engine and traces as one HTML file
 *
 * The page with the engine is a file of its own (src/view/web/engine.mjs), with two marks that are replaced here: by a
 * title, and by the traces, as stores in base64.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/output.h"
#include "base/io/read_at.h"
#include "base/io/temporary.h"
#include "base/options.h"
#include "base/text/ends.h"
#include "heddle/convert.h"
#include "heddle/view.h"
#include "report/html/page.h"

enum { PAGE_BYTES = 64 << 20, STEP = 3 << 16 /* whole groups of base64 */, NAME_BYTES = 40, SALT_BYTES = 16 };

static const char title_mark[] = "<!--heddle:title-->", traces_mark[] = "<!--heddle:traces-->";

/* ---- the page ---- */

static hd_status read_page(hd_bytes *out, const char *path, hd_error *err)
{
    static const char version[] = "<meta name=\"heddle-version\" content=\"" HD_VERSION "\">";
    hd_input *input;
    HD_TRY(hd_input_open(&input, path, NULL, err));
    hd_status status = hd_input_all(out, input, 1, PAGE_BYTES, err);
    hd_input_close(input);
    HD_TRY(status);
    const char *text = (const char *)out->data;
    if (!strstr(text, title_mark) || !strstr(text, traces_mark))
        return hd_error_set(err, HD_ERR_DAMAGED, path, HD_OFFSET_NONE, "is no page with the engine: run make wasm");
    if (strstr(text, version)) return HD_OK;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE,
                        "the engine is of another version than " HD_VERSION ": run make wasm again");
}

/* ---- the traces ---- */

static hd_status write_text(hd_output *out, hd_json_out *text, hd_error *err)
{
    if (text->failed) return HD_NOMEM(err);
    hd_status status = hd_output_write(out, text->data, text->size, err);
    text->size = 0;
    return status;
}

static hd_status write_base64(hd_output *out, int fd, hd_error *err)
{
    uint8_t *piece = malloc(STEP);
    hd_bytes text = {0};
    hd_status status = piece ? HD_OK : HD_NOMEM(err);
    for (uint64_t at = 0; status == HD_OK;) {
        ssize_t size = hd_read_at(fd, piece, STEP, at);
        if (size < 0) status = hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "cannot read a temporary file");
        if (size <= 0) break;
        text.size = 0;
        hd_bytes_put_base64(&text, piece, (size_t)size);
        status = text.failed ? HD_NOMEM(err) : hd_output_write(out, text.data, text.size, err);
        at += (uint64_t)size;
    }
    free(piece);
    hd_bytes_deinit(&text);
    return status;
}

static hd_status write_trace(hd_output *out, const char *input, const char *name, const hd_view_save_options *options,
                             hd_error *err)
{
    char path[32];
    int fd;
    const hd_read_options read = {.threads = options->threads,
                                  .memory_limit = options->memory_limit,
                                  .progress = options->reading,
                                  .progress_user = options->reading_user};
    const hd_write_options write = {.format = "heddle",
                                    .threads = options->threads,
                                    .progress = options->writing,
                                    .progress_user = options->writing_user};
    const hd_convert_options convert = {.from = options->from,
                                        .until = options->until,
                                        .tracks = options->tracks,
                                        .anonymize = options->anonymize,
                                        .salt = options->salt,
                                        .read = &read,
                                        .write = &write};
    HD_TRY(hd_temporary_nameless(&fd, err));
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    hd_status status = hd_convert(NULL, &input, 1, path, &convert, err);
    hd_json_out tag = {0};
    hd_json_put_text(&tag, "<script type=\"text/plain\" class=\"heddle-trace\" data-name=\"");
    html_words(&tag, name);
    hd_json_put_text(&tag, "\">");
    if (status == HD_OK) status = write_text(out, &tag, err);
    if (status == HD_OK) status = write_base64(out, fd, err);
    hd_json_put_text(&tag, "</script>\n");
    if (status == HD_OK) status = write_text(out, &tag, err);
    free(tag.data);
    close(fd);
    return status;
}

/* The name of an input, or its number: a name may be of what is anonymized. */
static const char *shown_name(char room[NAME_BYTES], const char *const *inputs, size_t index,
                              const hd_view_save_options *options)
{
    if (!options->anonymize) return hd_base_name(inputs[index]);
    snprintf(room, NAME_BYTES, "trace %zu", index + 1);
    return room;
}

/* "a.json, b.json – " */
static hd_status write_title(hd_output *out, const char *const *inputs, size_t count,
                             const hd_view_save_options *options, hd_error *err)
{
    enum { NAMED = 3 };
    char room[NAME_BYTES];
    hd_json_out text = {0};
    for (size_t i = 0; i < count && i < NAMED; i++) {
        if (i) hd_json_put_text(&text, ", ");
        html_words(&text, shown_name(room, inputs, i, options));
    }
    if (count) hd_json_put_text(&text, count > NAMED ? " … – " : " – ");
    hd_status status = write_text(out, &text, err);
    free(text.data);
    return status;
}

static hd_status write_all(hd_output *out, const hd_bytes *page, const char *const *inputs, size_t count,
                           const hd_view_save_options *options, hd_error *err)
{
    char room[NAME_BYTES];
    const char *text = (const char *)page->data, *title = strstr(text, title_mark), *traces = strstr(text, traces_mark);
    if (traces < title) return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "no page with the engine");
    HD_TRY(hd_output_write(out, text, (size_t)(title - text), err));
    HD_TRY(write_title(out, inputs, count, options, err));
    title += strlen(title_mark);
    HD_TRY(hd_output_write(out, title, (size_t)(traces - title), err));
    for (size_t i = 0; i < count; i++)
        HD_TRY(write_trace(out, inputs[i], shown_name(room, inputs, i, options), options, err));
    traces += strlen(traces_mark);
    return hd_output_write(out, traces, page->size - (size_t)(traces - text), err);
}

/* One random key for all inputs, so that equal texts of ranks stay equal. */
static hd_status choose_salt(char out[2 * SALT_BYTES + 1], hd_error *err)
{
    uint8_t bytes[SALT_BYTES];
    if (getentropy(bytes, sizeof bytes) != 0)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "the system has no random numbers: give a salt");
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return HD_OK;
}

hd_status hd_view_save(const char *to, const char *const *inputs, size_t count, const hd_view_save_options *options,
                       hd_error *err)
{
    hd_bytes page = {0};
    hd_output *out;
    HD_OWN_OPTIONS(hd_view_save_options, options, err);
    if (!options->engine)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a page to save needs an engine");
    char salt[2 * SALT_BYTES + 1];
    hd_view_save_options own = *options;
    if (own.anonymize && !own.salt) {
        HD_TRY(choose_salt(salt, err));
        own.salt = salt;
    }
    hd_status status = read_page(&page, options->engine, err);
    if (status == HD_OK) status = hd_output_create(&out, to, NULL, err);
    if (status == HD_OK) {
        status = write_all(out, &page, inputs, count, &own, err);
        if (status == HD_OK)
            status = hd_output_commit(out, err);
        else
            hd_output_abort(out);
    }
    hd_bytes_deinit(&page);
    return status;
}
