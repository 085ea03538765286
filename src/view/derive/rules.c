/* rules.c - what sort of work a kernel is, which ranges number steps: by their names */
#include "heddle/names.h"
#include "view/derive/derive.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_joint(char c)
{
    return c == '_' || c == '-' || c == ' ';
}

/* A word begins behind what is no letter, and with a capital behind a small letter: two|Shot|All|Reduce. */
static bool begins_word(hd_string text, size_t at)
{
    if (at == 0 || !is_letter(text.data[at - 1])) return true;
    return is_upper(text.data[at]) && !is_upper(text.data[at - 1]);
}

/* Whether the word (small letters) stands at a place, whatever the case; joints may part it: all_reduce, AllReduce. */
static bool stands_at(hd_string text, size_t at, const char *word)
{
    for (bool first = true; *word; first = false, at++) {
        while (!first && at < text.size && is_joint(text.data[at])) at++;
        if (at >= text.size || lower(text.data[at]) != *word++) return false;
    }
    return true;
}

/* ---- sorts of work ---- */

/* Words that names of kernels have which move data between devices. */
static const char *const communication_words[] = {
    /* libraries: NVIDIA, AMD, Intel, Meta and Huawei, Microsoft, Cambricon, Moore Threads, any of them; PyTorch's own
     */
    "nccl", "rccl", "oneccl", "hccl", "hcom", "mscclpp", "msccl", "cncl", "mccl", "xccl", "gloo", "nvshmem", "rocshmem",
    "userbuffers", "deepep",
    /* collectives, as those and XLA, vLLM, TensorRT-LLM, symmetric memory call them */
    "allreduce", "allgather", "alltoall", "all2all", "reducescatter", "collectivepermute", "collectivebroadcast",
    "crossdevicereduce", "sendrecv"};

static bool is_communication(hd_string name)
{
    for (size_t at = 0; at < name.size; at++) {
        if (!is_letter(name.data[at]) || !begins_word(name, at)) continue;
        for (size_t i = 0; i < sizeof communication_words / sizeof *communication_words; i++) {
            if (stands_at(name, at, communication_words[i])) return true;
        }
    }
    return false;
}

view_work_sort view_work_sort_of(hd_role role, hd_string name)
{
    char text[HD_NAME_BYTES];
    if (role != HD_ROLE_KERNEL) return VIEW_WORK_COPY;
    /* Without parameters: a kernel that only takes an ncclComm, or is a template of some functor, computes. */
    size_t size = hd_name_short(text, hd_name_plain(name));
    return is_communication((hd_string){text, size}) ? VIEW_WORK_COMMUNICATION : VIEW_WORK_COMPUTE;
}

/* ---- modules ---- */

bool view_is_module(hd_string name)
{
    static const char prefix[] = "nn.Module: ";
    return name.size > sizeof prefix - 1 && memcmp(name.data, prefix, sizeof prefix - 1) == 0;
}
