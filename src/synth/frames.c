/* frames.c - the native stack of a launch: the frames that a debugger would show for the open ops and annotations */
#include <stdio.h>

#include "base/text/ends.h"
#include "synth/impl.h"

enum { NAME_BYTES = 256, FRAME_BYTES = 400 };
enum { FRAME_DROPPED = 1, FRAME_NAMES = 2 }; /* in the memo: no frame; name n is n + 2 */

static uint32_t push(synth *s, uint32_t caller, const char *name, hd_frame_kind kind)
{
    hd_stacks *stacks = s->stacks->stacks;
    return hd_stacks_push(stacks, caller, hd_stacks_name(stacks, name, strlen(name)), kind);
}

/* ---- names of functions ---- */

/* "model/mlp.py(19): forward" -> "py::forward:model/mlp.py", as CPython names its trampolines for perf. */
static void python_frame(char out[FRAME_BYTES], const char *name)
{
    const char *bracket = strchr(name, '('), *colon = bracket ? strstr(bracket, "): ") : NULL;
    if (hd_starts_with(name, strlen(name), "nn.Module: "))
        snprintf(out, FRAME_BYTES, "py::%s.forward:torch/nn/modules/module.py", name + 11);
    else if (hd_starts_with(name, strlen(name), "<built-in method run_backward"))
        snprintf(out, FRAME_BYTES, "THPEngine_run_backward(_object*, _object*, _object*)");
    else if (colon)
        snprintf(out, FRAME_BYTES, "py::%s:%.*s", colon + 3, (int)(bracket - name), name);
    else
        snprintf(out, FRAME_BYTES, "py::%s", name);
}

static void annotation_frame(char out[FRAME_BYTES], const char *name)
{
    static const char *const functions[][2] = {
        {"ProfilerStep#", "train::Trainer::step(train::Batch const&)"},
        {"## forward", "model::Transformer::forward(at::Tensor)"},
        {"## backward", "train::Trainer::backward(at::Tensor)"},
        {"Optimizer.zero_grad", "torch::optim::Optimizer::zero_grad(bool)"},
        {"Optimizer.step", "torch::optim::AdamW::step(std::function<at::Tensor ()>)"},
        {"enumerate(DataLoader)", "train::Loader::next()"},
        {"capture_graph", "train::Trainer::capture()"},
        {"nccl:all_reduce",
         "c10d::ProcessGroupNCCL::allreduce(std::vector<at::Tensor>&, c10d::AllreduceOptions const&)"},
        {"nccl:_all_gather_base", "c10d::ProcessGroupNCCL::_allgather_base(at::Tensor&, at::Tensor&, "
                                  "c10d::AllgatherOptions const&)"},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!hd_starts_with(name, strlen(name), functions[i][0])) continue;
        snprintf(out, FRAME_BYTES, "%s", functions[i][1]);
        return;
    }
    snprintf(out, FRAME_BYTES, "%s", name);
}

static void op_frame(char out[FRAME_BYTES], const char *name)
{
    static const char evaluate[] = "autograd::engine::evaluate_function: ";
    const char *last = strrchr(name, ':');
    if (hd_starts_with(name, strlen(name), evaluate))
        snprintf(out, FRAME_BYTES, "torch::autograd::Engine::evaluate_function");
    else if (hd_starts_with(name, strlen(name), "aten::"))
        snprintf(out, FRAME_BYTES, "at::_ops::%s::call", name + 6);
    else if (hd_starts_with(name, strlen(name), "CUDAGraph::"))
        snprintf(out, FRAME_BYTES, "at::cuda::%s()", name);
    else if (last)
        snprintf(out, FRAME_BYTES, "%s::apply", name);
    else
        snprintf(out, FRAME_BYTES, "torch::autograd::generated::%s::apply", name);
}

/* The memo's value for the slice of an event. */
static uint32_t new_frame(synth *s, const synth_event *event)
{
    char name[NAME_BYTES], out[FRAME_BYTES];
    hd_string text = hd_builder_string(s->builder, event->name);
    snprintf(name, sizeof name, "%.*s", (int)text.size, text.data);
    bool annotation = event->category == s->texts[SYNTH_TEXT_USER_ANNOTATION];
    if (annotation && s->options.python) return FRAME_DROPPED;
    if (event->name == s->texts[SYNTH_TEXT_RECORD_COMMS]) return FRAME_DROPPED;
    if (annotation)
        annotation_frame(out, name);
    else if (event->category == s->texts[SYNTH_TEXT_PYTHON_FUNCTION])
        python_frame(out, name);
    else
        op_frame(out, name);
    uint32_t id = hd_stacks_name(s->stacks->stacks, out, strlen(out));
    return id < HD_NONE - FRAME_NAMES ? id + FRAME_NAMES : HD_NONE;
}

/* ---- kernels ---- */

/* The function that launches a kernel. */
static void host_frame(char out[FRAME_BYTES], const char *kernel)
{
    const char *at, *last;
    size_t size = synth_kernel_name(&at, kernel);
    for (last = at + size; last > at && last[-1] != ':';) last--;
    snprintf(out, FRAME_BYTES, "at::native::launch_%.*s", (int)(at + size - last), last);
}

/* ---- stacks ---- */

static uint32_t push_all(synth *s, const char *const *names)
{
    uint32_t node = HD_STACK_NONE;
    for (; *names; names++)
        node = push(s, node, *names, **names == 'p' && (*names)[1] == 'y' ? HD_FRAME_PYTHON : HD_FRAME_NATIVE);
    return node;
}

hd_status synth_frames_init(synth *s)
{
    static const char *const native[] = {"main", "train::Trainer::run(int)", NULL};
    static const char *const python[] = {"main", "Py_BytesMain", "Py_RunMain", "py::<module>:train.py", NULL};
    static const char *const engine[] = {"clone3",
                                         "start_thread",
                                         "execute_native_thread_routine",
                                         "torch::autograd::Engine::thread_init(int, bool)",
                                         "torch::autograd::Engine::thread_main",
                                         NULL};
    HD_TRY(hd_stacks_new(&s->stacks->stacks, s->err));
    s->roots[SYNTH_MAIN] = push_all(s, s->options.python ? python : native);
    s->roots[SYNTH_AUTOGRAD] = push_all(s, engine);
    hd_stacks *stacks = s->stacks->stacks;
    for (int i = 0; i < SYNTH_KERNEL_COUNT; i++) {
        char name[FRAME_BYTES];
        host_frame(name, synth_kernel_specs[i].name);
        s->hosts[i] = hd_stacks_name(stacks, name, strlen(name));
        size_t used = (size_t)snprintf(name, sizeof name, "__device_stub_");
        synth_mangle(name + used, sizeof name - used, (synth_kernel_id)i);
        s->stubs[i] = hd_stacks_name(stacks, name, strlen(name));
    }
    return HD_OK;
}

static uint32_t push_slice(synth *s, uint32_t caller, const synth_event *event)
{
    uint32_t *known = synth_memo_at(&s->frames, event->name);
    if (!known) return HD_NONE;
    if (!*known) *known = new_frame(s, event);
    if (*known == FRAME_DROPPED) return caller;
    if (*known == HD_NONE) return HD_NONE;
    bool python = event->category == s->texts[SYNTH_TEXT_PYTHON_FUNCTION];
    return hd_stacks_push(s->stacks->stacks, caller, *known - FRAME_NAMES, python ? HD_FRAME_PYTHON : HD_FRAME_NATIVE);
}

/* Frames of Python name the layer themselves. */
static uint32_t push_layer(synth *s, uint32_t caller, uint32_t layer)
{
    char name[64];
    if (s->options.python) return caller;
    snprintf(name, sizeof name, "model::Block<%u>::forward(at::Tensor)", (unsigned)layer - 1);
    return push(s, caller, name, HD_FRAME_NATIVE);
}

/* The node of the innermost open slice. */
static uint32_t thread_node(synth *s, synth_thread *t)
{
    uint32_t node = s->roots[t->which], first = t->depth;
    while (first && !t->frames[first - 1].stack) first--;
    if (first) node = t->frames[first - 1].stack;
    for (uint32_t i = first; i < t->depth; i++) {
        if (t->layer && i == t->layer_depth) node = push_layer(s, node, t->layer);
        node = push_slice(s, node, &s->lists[SYNTH_CPU].events[t->frames[i].event]);
        t->frames[i].stack = node;
    }
    if (t->layer && t->depth == t->layer_depth) node = push_layer(s, node, t->layer);
    return node;
}

/* One of many call paths of a dispatcher. */
static uint32_t push_path(synth *s, uint32_t caller)
{
    char name[80];
    uint32_t path = (uint32_t)(s->path_serial++ % s->options.stack_paths);
    snprintf(name, sizeof name, "dispatch::Router::route_%u(dispatch::Request&)", path / 10000);
    uint32_t node = push(s, caller, name, HD_FRAME_NATIVE);
    snprintf(name, sizeof name, "dispatch::Shard::find_%u(dispatch::Key const&)", path / 100 % 100);
    node = push(s, node, name, HD_FRAME_NATIVE);
    snprintf(name, sizeof name, "dispatch::Slot::call_%u()", path % 100);
    return push(s, node, name, HD_FRAME_NATIVE);
}

uint32_t synth_stack_of(synth *s, synth_thread *t, synth_text_id call, synth_kernel_id kernel)
{
    hd_stacks *stacks = s->stacks->stacks;
    uint32_t node = thread_node(s, t);
    if (s->options.stack_paths) node = push_path(s, node);
    if (kernel != SYNTH_KERNEL_NONE) {
        node = hd_stacks_push(stacks, node, s->hosts[kernel], HD_FRAME_NATIVE);
        node = hd_stacks_push(stacks, node, s->stubs[kernel], HD_FRAME_NATIVE);
    }
    return push(s, node, synth_texts[call], HD_FRAME_API);
}
