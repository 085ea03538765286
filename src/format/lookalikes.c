/* lookalikes.c - recognises files that are not readable traces, by their first bytes or names, with advice
 *
 * Bytes take precedence over names. An entry without bytes is recognised by name only: those files have no documented
 * magic.
 */
#include "format/lookalikes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text/ends.h"
#include "format/stack_text.h"

typedef struct lookalike {
    hd_lookalike is;
    const char *bytes; /* NULL: by the name alone */
    size_t size, at;   /* of the bytes; their offset in the file */
} lookalike;

#define BYTES(text) text, sizeof(text) - 1, 0
#define BYTES_AT(at, text) text, sizeof(text) - 1, at
#define NAME_ALONE NULL, 0, 0
#define TORCH "`prof.export_chrome_trace(\"trace.json\")` of torch.profiler writes a trace"
#define PICKLE "a pickle of Python, as PyTorch saves tensors and memory snapshots"
#define DMON "counters of GPUs, as nvidia-smi dmon prints"
#define DCGMI "counters of GPUs, as dcgmi dmon prints"
#define PERF_TEXT "`perf script -i FILE > FILE.perf` makes text of it that can be read"

/* clang-format off */
static const lookalike lookalikes[] = {
    {{"a perf.data file", NULL, NULL}, BYTES("PERFILE2")},
    {{"a perf.data file of a big-endian machine", NULL, NULL}, BYTES("2ELIFREP")},
    {{"a perf.data file of Linux before 3.2", NULL, PERF_TEXT}, BYTES("PERFFILE")},
    {{"a summary of a job's ranks", ".hds",
      "`heddle report` reads it for stragglers (with bandwidths), imbalance, slowdown, topology, job and clocks, "
      "`heddle view` shows it"}, BYTES("HEDDLEHS")},
    {{"an SQLite database, as Nsight Systems and rocprof write", NULL, NULL}, BYTES("SQLite format 3")},
    {{"a report of Nsight Systems", ".nsys-rep .qdrep",
      "it is read where `nsys` is on PATH; `nsys export --type sqlite FILE` makes a file that is"}, NAME_ALONE},
    {{"raw data of Nsight Systems", ".qdstrm",
      "QdstrmImporter makes a report of it, and `nsys export --type sqlite` a file that can be read"}, NAME_ALONE},
    {{"a report of Nsight Compute", ".ncu-rep .nsight-cuprof-report",
      "it has counters of single kernels and no timeline; `nsys profile` records one"}, BYTES("NVR\0")},
    {{"a profile of nvprof", ".nvprof .nvvp", "`nsys profile` records what can be read"}, NAME_ALONE},
    {{"a run of rocprof", ".rocprof",
      "`rocprofv3 --output-format json` or `csv` writes what can be read"}, NAME_ALONE},
    {{"a result of VTune", ".vtune .dpe",
      "`unitrace --chrome-kernel-logging` records a timeline that can be read"}, NAME_ALONE},
    {{"a trace of Instruments", ".trace",
      "`xctrace export --input FILE --toc` lists its tables, `--xpath` writes XML that can be read"}, NAME_ALONE},
    {{"a trace of Windows (ETW)", ".etl .wpr", NULL}, NAME_ALONE},
    {{"a trace of Paraver", ".prv", NULL}, BYTES("#Paraver")},
    {{"a trace in CTF, as LTTng writes", NULL, NULL}, BYTES("/* CTF ")},
    {{"a packet of a CTF trace, as LTTng writes", NULL, NULL}, BYTES("\xc1\x1f\xfc\xc1")},
    {{"a trace.dat of trace-cmd", NULL, NULL}, BYTES("\x17\x08""Dtracing")},
    {{"text of ftrace", NULL, NULL}, BYTES("# tracer:")},
    {{"text of ftrace, as trace-cmd writes", NULL, NULL}, BYTES("version = ")},
    {{"text of pprof", NULL, NULL}, BYTES("go tool pprof")},
    {{"saved tensors of PyTorch, or a model", ".pt .pth .ckpt", TORCH}, NAME_ALONE},
    {{PICKLE, ".pkl .pickle", TORCH}, BYTES("\x80\x02")},
    {{PICKLE, NULL, TORCH}, BYTES("\x80\x03")},
    {{PICKLE, NULL, TORCH}, BYTES("\x80\x04\x95")},
    {{PICKLE, NULL, TORCH}, BYTES("\x80\x05\x95")},
    {{"an array of NumPy", ".npy", NULL}, BYTES("\x93NUMPY")},
    {{"an HDF5 file", ".h5 .hdf5", "it holds arrays, not a trace that is known"}, BYTES("\x89HDF\r\n\x1a\n")},
    {{"a Parquet file", ".parquet",
      "Parquet is written and not read; `heddle query` reads the trace that it was made from"}, BYTES("PAR1\x15")},
    {{"a file of Arrow", ".arrow .feather", NULL}, BYTES("ARROW1\0\0")},
    {{"a database of DuckDB", ".duckdb", NULL}, NAME_ALONE},
    {{"a tar archive", ".tar .tgz", "`tar xf FILE` unpacks it; name the traces inside"}, BYTES_AT(257, "ustar")},
    {{"a ZIP archive", ".zip", "`unzip FILE` unpacks it; name the traces inside"}, BYTES("PK\x03\x04")},
    {{"a 7z archive", ".7z", "`7z x FILE` unpacks it; name the traces inside"}, BYTES("7z\xbc\xaf\x27\x1c")},
    {{"a file that xz compressed", ".xz", "`xz -dc FILE | heddle … -` reads what is inside"}, BYTES("\xfd""7zXZ\0")},
    {{"a file that bzip2 compressed", ".bz2",
      "`bzip2 -dc FILE | heddle … -` reads what is inside"}, BYTES_AT(4, "1AY&SY")},
    {{"a file that lz4 compressed", ".lz4",
      "`lz4 -dc FILE | heddle … -` reads what is inside"}, BYTES("\x04\x22\x4d\x18")},
    {{DMON, NULL, NULL}, BYTES("# gpu ")},
    {{DMON, NULL, NULL}, BYTES("#Time ")},
    {{DMON, NULL, NULL}, BYTES("#Date ")},
    {{DCGMI, NULL, NULL}, BYTES("#Entity ")},
    {{DCGMI, NULL, NULL}, BYTES("# Entity ")},
    {{"an ELF program or library", NULL, NULL}, BYTES("\x7f""ELF")},
    {{"a Windows program", NULL, NULL}, BYTES("MZ")},
    {{"an SVG picture", NULL, NULL}, BYTES("<svg")},
    {{"a PNG picture", NULL, NULL}, BYTES("\x89PNG")},
    {{"a PDF document", NULL, NULL}, BYTES("%PDF-")},
    {{"an HTML page", NULL, NULL}, BYTES("<!DOCTYPE html")},
    {{"an HTML page", NULL, NULL}, BYTES("<!doctype html")},
    {{"an HTML page", NULL, NULL}, BYTES("<html")},
    {{"a script", NULL, NULL}, BYTES("#!")},
};
/* clang-format on */
enum { LOOKALIKES = sizeof lookalikes / sizeof *lookalikes };

/* Recognised by the text as a whole. */
static const hd_lookalike xml = {"XML", NULL, NULL}, markup = {"XML or HTML", NULL, NULL},
                          picture = {"an SVG picture", NULL, NULL}, json = {"JSON", NULL, NULL},
                          json_lines = {"newline-delimited JSON, as CUPTI injections write", NULL, NULL},
                          cupti_text = {"text of CUPTI's activity sample", NULL, NULL},
                          saved_page = {"a page of `heddle view --save`", NULL,
                                        "open it in a browser; cropping a selection there writes a trace"},
                          torch_archive = {"saved tensors of PyTorch, or a model", NULL, TORCH},
                          timed_lines = {"lines with times in brackets, as babeltrace2 and dmesg print", NULL, NULL},
                          metrics = {"metrics as text, as Prometheus takes and DCGM's exporter gives", NULL, NULL};

size_t hd_lookalike_count(void)
{
    return LOOKALIKES;
}

const hd_lookalike *hd_lookalike_at(size_t index)
{
    return index < LOOKALIKES ? &lookalikes[index].is : NULL;
}

/* ---- by the name ---- */

const hd_lookalike *hd_lookalike_named(const char *path)
{
    const char *name = hd_base_name(path);
    size_t size = strlen(name);
    while (size && name[size - 1] == '/') size--;
    for (size_t i = 0; i < LOOKALIKES; i++) {
        for (const char *p = lookalikes[i].is.names; p && *p;) {
            size_t length = strcspn(p, " ");
            if (size >= length && strncasecmp(name + size - length, p, length) == 0) return &lookalikes[i].is;
            p += length + (p[length] == ' ');
        }
    }
    return NULL;
}

/* ---- by the content ---- */

/* Names of the records of CUPTI's sample program activity_trace, one a line. */
static bool is_cupti_text(const char *text, size_t size)
{
    static const char *const records[] = {"RUNTIME [", "DRIVER [", "CONCURRENT_KERNEL [",
                                          "KERNEL [",  "MEMCPY ",  "MEMSET ",
                                          "OVERHEAD ", "DEVICE ",  "CONTEXT "};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        if (hd_starts_with(text, size, records[i]) && memchr(text, '[', size)) return true;
    }
    return false;
}

/* An object, or an array of objects; frames may begin with a bracket too. */
static bool is_json(const char *text, size_t size)
{
    size_t i = 1;
    if (!size || *text == '{') return size > 0;
    while (i < size && (hd_is_blank(text[i]) || text[i] == '\n' || text[i] == '\r')) i++;
    return *text == '[' && i < size && text[i] == '{';
}

static bool holds(const char *text, size_t size, const char *what)
{
    return memmem(text, size, what, strlen(what)) != NULL;
}

/* The output of torch.save is a ZIP whose first member is NAME/data.pkl. */
static bool is_torch_archive(const char *text, size_t size)
{
    return hd_starts_with(text, size, "PK\x03\x04") && holds(text, size < 512 ? size : 512, "/data.pkl");
}

/* "[12:00:00.000000100] (+0.000000200) host provider:event: { … }", "[   12.345678] usb 1-1: new device": behind an
 * array of a number JSON has no word. */
static bool is_timed_line(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size), *close;
    hd_string line = {text, end ? (size_t)(end - text) : size};
    if (!line.size || *text != '[' || !(close = memchr(text, ']', line.size))) return false;
    bool has_digit = false;
    for (const char *p = text + 1; p < close; p++) {
        if (!hd_is_digit(*p) && !memchr(":.-T ", *p, 5)) return false;
        has_digit |= hd_is_digit(*p);
    }
    line = hd_text_trim(close + 1, line.size - (size_t)(close + 1 - text));
    return has_digit && line.size && (isalpha((unsigned char)*line.data) || hd_starts_with(line.data, line.size, "(+"));
}

bool hd_lookalike_is_metrics(const char *text, size_t size)
{
    size_t i = 0;
    if (hd_starts_with(text, size, "# HELP ") || hd_starts_with(text, size, "# TYPE ")) return true;
    while (i < size && (isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == ':')) i++;
    if (i == 0 || i >= size || text[i++] != '{') return false;
    size_t label = i;
    while (i < size && (isalnum((unsigned char)text[i]) || text[i] == '_')) i++;
    return i > label && i + 1 < size && text[i] == '=' && text[i + 1] == '"';
}

bool hd_lookalike_is_log(const char *text, size_t size)
{
    return hd_lookalike_is_metrics(text, size) || is_timed_line(text, size);
}

const hd_lookalike *hd_lookalike_of(const unsigned char *head, size_t size)
{
    const char *text = (const char *)head;
    if (is_torch_archive(text, size)) return &torch_archive;
    if (hd_starts_with(text, size, "<!doctype html>") && holds(text, size, "<meta name=\"heddle-version\""))
        return &saved_page;
    for (size_t i = 0; i < LOOKALIKES; i++) {
        const lookalike *l = &lookalikes[i];
        if (l->bytes && size >= l->at + l->size && memcmp(text + l->at, l->bytes, l->size) == 0) return &l->is;
    }
    hd_string body = hd_text_trim(text, size);
    while (body.size && (hd_is_blank(*body.data) || *body.data == '\n' || *body.data == '\r')) body.data++, body.size--;
    if (hd_starts_with(body.data, body.size, "<?xml")) return holds(text, size, "<svg") ? &picture : &xml;
    if (hd_starts_with(body.data, body.size, "<")) return &markup;
    if (hd_starts_with(body.data, body.size, "{\"type\":\"")) return &json_lines;
    if (hd_lookalike_is_log(body.data, body.size))
        return hd_lookalike_is_metrics(body.data, body.size) ? &metrics : &timed_lines;
    if (is_json(body.data, body.size)) return &json;
    return is_cupti_text(body.data, body.size) ? &cupti_text : NULL;
}

void hd_lookalike_put(char *out, size_t size, const hd_lookalike *l)
{
    if (!l)
        snprintf(out, size, "%s", "");
    else
        snprintf(out, size, ", which looks like %s%s%s", l->what, l->advice ? ": " : "", l->advice ? l->advice : "");
}
