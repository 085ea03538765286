/* python_frames.c - frameworks, libraries and Python's own modules by the names of their files */
#include "model/roles/python_frames.h"

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

static bool contains(hd_string text, const char *word)
{
    return text.size && memmem(text.data, text.size, word, strlen(word)) != NULL;
}

#define HAS(list, part) has_word(list, sizeof(list) / sizeof *(list), part)
static bool has_word(const char *const *list, size_t count, hd_string part)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == part.size && memcmp(list[i], part.data, part.size) == 0) return true;
    return false;
}

/* The path of "PATH(LINE): FUNCTION"; size 0: it is none. */
static hd_string path_of(hd_string name)
{
    for (size_t i = 0; i + 3 < name.size; i++) {
        if (name.data[i] != '(' || i < 4 || memcmp(name.data + i - 3, ".py", 3) != 0) continue;
        size_t end = i + 1;
        while (end < name.size && name.data[end] >= '0' && name.data[end] <= '9') end++;
        if (end > i + 1 && end + 1 < name.size && name.data[end] == ')' && name.data[end + 1] == ':')
            return (hd_string){name.data, i};
    }
    return (hd_string){"", 0};
}

hd_frame_level hd_frame_level_of(hd_string name)
{
    hd_string path = path_of(name);
    if (!path.size || path.data[0] == '<') return HD_FRAME_BELOW;
    static const char *const folders[] = {"site-packages/", "dist-packages/"};
    bool is_installed = false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *at = memmem(path.data, path.size, folders[i], strlen(folders[i]));
        if (!at) continue;
        is_installed = true;
        at += strlen(folders[i]);
        path = (hd_string){at, path.size - (size_t)(at - path.data)};
    }
    if (!is_installed && contains(path, "/lib/python3")) return HD_FRAME_BELOW;
    size_t first = 0;
    while (first < path.size && path.data[first] != '/') first++;
    bool is_file = first == path.size;
    const hd_string part = {path.data, is_file ? path.size - strlen(".py") : first};
    if (HAS(frameworks, part) || (!is_installed && HAS(own, part))) return HD_FRAME_BELOW;
    return is_installed || HAS(libraries, part) ? HD_FRAME_LIBRARY : HD_FRAME_USER;
}
