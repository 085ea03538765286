/* chrome.c - the descriptor of Chrome trace event JSON */
#include "format/chrome/chrome.h"
#include "format/chrome/patch.h"

const hd_format hd_chrome_format = {
    .info = {.name = "chrome",
             .title = "Chrome trace event JSON (PyTorch Kineto, TensorFlow, JAX, rocprof, Chrome)",
             .extensions = ".json",
             .reads = true,
             .writes = true,
             .keeps = "everything",
             .loses = "nothing"},
    .sniff = chrome_sniff,
    .read = chrome_read,
    .write = chrome_write,
    .patch = chrome_patch,
};
