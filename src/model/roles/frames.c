/* frames.c - places in the names of frames; frameworks, libraries and Python's own modules by their files */
#include "model/roles/frames.h"
#include "trace/text.h"

#include <string.h>

static const char *const frameworks[] = {"torch",      "functorch", "torchvision", "torchaudio", "torch_npu",
                                         "triton",     "numpy",     "jax",         "jaxlib",     "tensorflow",
                                         "keras",      "cupy",      "numba",       "scipy",      "pandas",
                                         "setuptools", "pip",       "IPython",     "ipykernel",  "tornado"};
static const char *const libraries[] = {
    "transformers", "accelerate",  "datasets",   "deepspeed",  "lightning",    "pytorch_lightning",
    "apex",         "flash_attn",  "flashinfer", "xformers",   "vllm",         "sglang",
    "diffusers",    "peft",        "trl",        "timm",       "flax",         "optax",
    "haiku",        "equinox",     "tqdm",       "wandb",      "ray",          "hydra",
    "torchrec",     "fairscale",   "fairseq",    "colossalai", "bitsandbytes", "transformer_engine",
    "megablocks",   "liger_kernel"};
/* Files and folders of Python's own library that are seen around GPU activity. */
static const char *const own[] = {"_weakrefset", "abc",        "argparse",    "ast",
                                  "asyncio",     "bisect",     "codeop",      "code",
                                  "collections", "concurrent", "contextlib",  "copy",
                                  "copyreg",     "ctypes",     "dataclasses", "email",
                                  "encodings",   "enum",       "functools",   "gc",
                                  "genericpath", "glob",       "gzip",        "heapq",
                                  "http",        "importlib",  "inspect",     "io",
                                  "json",        "linecache",  "logging",     "multiprocessing",
                                  "numbers",     "operator",   "os",          "pathlib",
                                  "pickle",      "pkgutil",    "platform",    "posixpath",
                                  "queue",       "random",     "re",          "runpy",
                                  "sched",       "selectors",  "shutil",      "signal",
                                  "site",        "socket",     "sre_compile", "sre_parse",
                                  "string",      "struct",     "subprocess",  "tempfile",
                                  "textwrap",    "threading",  "timeit",      "tokenize",
                                  "traceback",   "types",      "typing",      "unittest",
                                  "urllib",      "uuid",       "warnings",    "weakref",
                                  "zipfile"};

#define HAS(list, part) has_word(list, sizeof(list) / sizeof *(list), part)
static bool has_word(const char *const *list, size_t count, hd_string part)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == part.size && memcmp(list[i], part.data, part.size) == 0) return true;
    return false;
}

/* ---- places ---- */

/* The digits at the end of text[0 … size); false: there are none, or too many. */
static bool take_line(int64_t *out, size_t *size, const char *text)
{
    size_t at = *size;
    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9') at--;
    if (at == *size || *size - at > 9) return false;
    *out = 0;
    for (size_t i = at; i < *size; i++) *out = *out * 10 + (text[i] - '0');
    *size = at;
    return true;
}

/* "FUNCTION (FILE:LINE)" */
static bool place_behind_function(hd_frame_place *out, hd_string name)
{
    if (name.size < 7 || name.data[name.size - 1] != ')') return false;
    const char *open = memrchr(name.data, '(', name.size);
    if (!open || open < name.data + 2 || open[-1] != ' ') return false;
    size_t size = (size_t)(name.data + name.size - 1 - open);
    if (!take_line(&out->line, &size, open) || size < 3 || open[size - 1] != ':') return false;
    out->file = (hd_string){open + 1, size - 2};
    out->function = (hd_string){name.data, (size_t)(open - name.data) - 1};
    return true;
}

/* "FILE(LINE): FUNCTION" */
static bool place_before_function(hd_frame_place *out, hd_string name)
{
    const char *end = name.data + name.size;
    for (const char *open = name.data; (open = memchr(open, '(', (size_t)(end - open))); open++) {
        const char *close = open + 1;
        while (close < end && *close >= '0' && *close <= '9') close++;
        size_t size = (size_t)(close - open);
        if (open == name.data || close + 1 >= end || close[0] != ')' || close[1] != ':') continue;
        if (!take_line(&out->line, &size, open)) continue;
        close += close + 2 < end && close[2] == ' ' ? 3 : 2;
        out->file = (hd_string){name.data, (size_t)(open - name.data)};
        out->function = (hd_string){close, (size_t)(end - close)};
        return true;
    }
    return false;
}

static bool ends_in_py(hd_string file)
{
    return file.size > 3 && memcmp(file.data + file.size - 3, ".py", 3) == 0;
}

/* "FILE:LINE:COLUMN", "FILE:LINE": only files of Python and "<embedded module …>", as names of C++ have colons, too. */
static bool place_alone(hd_frame_place *out, hd_string name)
{
    size_t size = name.size;
    for (int i = 0; i < 2; i++) {
        if (!take_line(&out->line, &size, name.data) || size < 2 || name.data[size - 1] != ':') return false;
        out->file = (hd_string){name.data, --size};
        out->function = (hd_string){"", 0};
        if (ends_in_py(out->file) || (name.data[0] == '<' && name.data[size - 1] == '>')) return true;
    }
    return false;
}

bool hd_frame_place_of(hd_frame_place *out, hd_string name)
{
    return name.size &&
           (place_behind_function(out, name) || place_before_function(out, name) || place_alone(out, name));
}

/* ---- whose code it is ---- */

static bool is_in(hd_string file, hd_string folder)
{
    for (size_t at = 0; at + folder.size <= file.size; at++) {
        size_t end = at + folder.size;
        bool begins = at == 0 || file.data[at - 1] == '/' || folder.data[0] == '/';
        if (!begins || memcmp(file.data + at, folder.data, folder.size) != 0) continue;
        if (end == file.size || folder.data[folder.size - 1] == '/' || file.data[end] == '/') return true;
    }
    return false;
}

static bool file_is_in(hd_string file, const char *folders)
{
    for (const char *at = folders; *at;) {
        size_t size = strcspn(at, ","), blanks = strspn(at, " ");
        if (blanks < size && is_in(file, (hd_string){at + blanks, size - blanks})) return true;
        at += size + (at[size] == ',');
    }
    return false;
}

hd_frame_level hd_frame_level_of(hd_string name)
{
    hd_frame_place place;
    if (!hd_frame_place_of(&place, name) || !ends_in_py(place.file)) return HD_FRAME_OTHER;
    hd_string path = place.file;
    static const char *const folders[] = {"site-packages/", "dist-packages/"};
    bool is_installed = false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *at = memmem(path.data, path.size, folders[i], strlen(folders[i]));
        if (!at) continue;
        is_installed = true;
        at += strlen(folders[i]);
        path = (hd_string){at, path.size - (size_t)(at - path.data)};
    }
    if (!is_installed && hd_string_holds(path, "/lib/python3")) return HD_FRAME_BELOW;
    if (hd_string_holds(path, "/torchinductor_")) return HD_FRAME_BELOW; /* what Inductor generates: its cache */
    size_t first = 0;
    while (first < path.size && path.data[first] != '/') first++;
    bool is_file = first == path.size;
    const hd_string part = {path.data, is_file ? path.size - strlen(".py") : first};
    if (HAS(frameworks, part) || (!is_installed && HAS(own, part))) return HD_FRAME_BELOW;
    return is_installed || HAS(libraries, part) ? HD_FRAME_LIBRARY : HD_FRAME_USER;
}

hd_frame_level hd_frame_level_beside(hd_string name, const char *folders)
{
    hd_frame_place place;
    hd_frame_level level = hd_frame_level_of(name);
    bool is_below = level > HD_FRAME_BELOW && hd_frame_place_of(&place, name) && file_is_in(place.file, folders);
    return is_below ? HD_FRAME_BELOW : level;
}
