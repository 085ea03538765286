/* words.c - words that say nothing about a user: terms of profilers, frameworks and Python
 *
 * Arguments' keys, categories and values by which reports work are here, so that a trace means the same without the
 * other words.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text/ends.h"
#include "pass/anonymize/impl.h"
#include "trace/text.h"

/* In the order of strcmp, in lower case. */
/* clang-format off */
static const char *const words[] = {
    "16gb", "32gb", "40gb", "80gb", "__call__", "__del__", "__enter__", "__exit__", "__getitem__", "__init__",
    "__iter__", "__main__", "__new__", "__next__", "__torch_function__", "_allgather_base", "_call_impl", "_compile",
    "_dynamo", "_engine_run_backward", "_local_scalar_dense", "_reduce_scatter_base", "_thread", "_wrapped_call_impl",
    "a10", "a100", "a30", "a40", "a800", "abc", "ac2g", "accumulategrad", "achieved", "acl", "aclrtmalloc", "acquire",
    "activeprofileindex", "activities", "activities_ns", "activity", "ada", "adagrad", "adam", "adamw", "add", "add_",
    "addmm", "addr", "address", "after", "ai", "aicore", "aicpu", "all", "all_events", "all_gather",
    "all_gather_into_tensor", "all_gather_into_tensor_coalesced", "all_reduce", "all_reduce_coalesced", "all_to_all",
    "all_to_all_single", "all_to_allv", "allgather", "allgather_coalesced", "allgather_into_tensor_coalesced",
    "allocate", "allocated", "allocation", "allocationbytes", "allocator", "allocator_name", "allow", "allreduce",
    "allreduce_coalesced", "alltoall", "alltoall_base", "alltoallv", "alltoallvc", "amd", "ampere", "analyse",
    "analysis", "annotation", "annotations", "anonymous", "any", "api", "app", "append", "args", "argument",
    "arguments", "array", "array_d", "arraytoarray", "as", "ascend", "ascend910", "ascend910b", "ascendcl", "asic",
    "async", "async_npu", "at", "aten", "atoa", "atod", "atoh", "attention", "autograd", "b200", "b300", "backend",
    "backend_config", "background", "background_memory_dump", "backtrace", "backward", "bad", "baddbmm", "bandwidth",
    "barrier", "base", "basetimenanoseconds", "batch", "batch_norm", "before", "begin", "below", "bf16", "bfloat16",
    "bin", "bind_id", "black", "blackwell", "block", "block_size", "blocked_function", "blocks", "blue", "bmm", "bool",
    "bootstrap", "both", "bp", "broadcast", "broadcastoop", "browser", "buffer", "buffers", "build", "build_id",
    "built", "busid", "busy", "busy_time", "byte", "bytes", "bytes_accessed", "c10", "c10_bfloat16", "c10d", "cache",
    "call", "call_id", "callable", "callback", "calls", "callstack", "cann", "capture", "cat", "catapult",
    "categories", "category", "cbid", "channel", "char", "children", "cid", "clip_grad", "clk", "clock", "clock_base",
    "clock_shifts_ns", "clocks", "clone", "close", "cname", "co_id", "coalesced", "code", "collective", "collectives",
    "color", "colour", "column", "comm", "command", "commandbuffer", "commhash", "communicate", "communication",
    "communications", "communicator", "comp", "compilation", "compiled", "compression", "computation", "compute",
    "compute_capability", "compute_mode", "computecapability", "computemajor", "computeminor", "concrete",
    "concurrent", "conf", "config", "connection", "const", "container", "context", "contextid", "contiguous", "conv",
    "conv2d", "convolution", "cooperative", "copies", "copy", "copy_", "copy_kind", "copydevicetodevice",
    "copydevicetohost", "copyhosttodevice", "copying", "core", "cores", "correlation", "correlation_id",
    "correlationid", "correlations", "count", "counter", "counters", "counts", "cpp", "cpu", "cpu_core_busy",
    "cpu_instant_event", "cpu_op", "cpuonly", "cq_build_abandoned", "cq_build_attempt_failed",
    "cq_build_attempt_passed", "cq_build_attempt_runnig", "cq_build_failed", "cq_build_passed", "cq_build_running",
    "created", "ctx", "ctxid", "cuctx", "cud", "cuda", "cuda_check", "cuda_driver", "cuda_driver_version",
    "cuda_graph", "cuda_profile_range", "cuda_runtime", "cuda_runtime_version", "cuda_sync", "cuda_sync_kind",
    "cudagraph", "cudagraphs", "cudnn", "cupti", "cupti_version", "cur", "curr", "current", "currentpid", "cutlass",
    "cycle", "cycles", "d2d", "d2h", "data", "data_deps", "dataloader", "dataparallel", "date", "day", "ddp",
    "deallocation", "debug", "debug_info", "deep", "default", "default_pg", "defaultdevice", "deivce", "delta",
    "depth", "desc", "description", "descriptor", "dest", "destination", "detach", "detail", "detailed_memory_dump",
    "dev", "device", "device_duration_ps", "device_id", "device_index", "device_name", "device_offset_ps",
    "device_uuid", "deviceid", "deviceproperties", "devices", "deviceuuid", "dfs", "dgxs", "dict", "dictcomp", "dim",
    "dims", "direction", "dispatch", "dispatch_id", "dispatchkernel", "display", "display_name", "displaytimeunit",
    "dist", "distributed", "distributeddataparallel", "distributedinfo", "div", "domain", "domainid", "done", "dot",
    "double", "dp", "dram", "driver", "drop", "dropout", "dropped", "dst", "dst_device", "dtoa", "dtod", "dtoh",
    "dtype", "dtypes", "dump", "dur", "duration", "dyn", "dynamic", "dynamo", "early", "element", "elements",
    "elementwise_kernel", "elf", "embedding", "empty", "empty_strided", "enabled", "end", "end_ts", "ends", "endvalue",
    "engine", "enqueue", "enqueued", "entries", "entry", "entry_state", "enum", "enumerate", "epoch", "esf", "est",
    "estack", "estimated", "etc", "ev", "evaluate_function", "event", "event_dep", "event_id", "event_name",
    "event_record", "event_reset", "event_wait", "events", "exclusive", "exec", "executed", "execution", "exporter",
    "ext", "extend", "external", "f16", "f32", "f64", "fa", "false", "fan", "fault", "faults", "fb", "fd", "fields",
    "file", "filename", "fileoffsets", "filesystem", "fill", "fillbuffer", "finish", "first", "flags", "float",
    "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "floating", "flop_rate", "flops", "flow",
    "flow_id", "flow_in", "flow_out", "flows", "flush", "for", "format", "forward", "fp16", "fp32", "fp64", "fp8",
    "frac", "fraction", "fragmentation", "frame", "frames", "framework", "free", "free_time", "freed", "freq",
    "frequency", "from", "frozen", "function", "functional", "fwd", "fwd_thread", "fwd_thread_id", "fwdbwd", "gap",
    "gather", "gb", "gb200", "gb300", "gc", "geforce", "gelu", "gemm", "generic", "generic_work", "genexpr", "get",
    "getattr", "gflops", "gh200", "global", "gloo", "good", "gpc", "gpu", "gpu_alloc", "gpu_dealloc", "gpu_kernel",
    "gpu_memcopy", "gpu_memcpy", "gpu_memset", "gpu_op", "gpu_sync", "gpu_time", "gpu_user_annotation", "gpuid",
    "gpunames", "gpus", "grad", "gradient", "gradients", "graph", "graph_id", "graph_node_id", "graphics", "graphid",
    "graphnodecreatorcorrelationid", "graphs", "gray", "green", "grey", "grid", "group", "group_id", "group_name",
    "group_size", "groups", "gt", "gtx", "h100", "h20", "h200", "h2d", "h2h", "h800", "half", "handle", "handler",
    "hardware", "has", "hasattr", "hash", "hbm", "hbm2", "hbm2e", "hbm3", "hbm3e", "hbm_bw", "hccl", "hcom",
    "hcom_allreduce_", "heap_dump_stack_frame", "heddle", "hierarchical", "high", "hip", "hip_api",
    "hip_driver_version", "hip_runtime_version", "hlo", "hlo_category", "hlo_module", "hlo_op", "hmem", "home",
    "hopper", "host", "host_id", "host_name", "hostname", "hosts", "hour", "hsa", "hsa_api", "html", "htoa", "htod",
    "htoh", "htop", "http", "https", "hw", "hw_queue_id", "i32", "i64", "i8", "id", "id2", "ident", "identity", "idle",
    "ids", "idx", "ignored", "image", "imbalance", "impl", "importlib", "in", "in_msg_nelems", "in_split_size",
    "inclusive", "incremental", "index", "inf", "inference", "info", "init", "initial", "inline", "input",
    "input_args", "input_dtypes", "input_ids", "input_indices", "input_sizes", "input_strides", "input_types",
    "inputs", "instance", "instant", "instinct", "int", "int16", "int32", "int64", "int8", "integer",
    "inter_thread_dep", "internal", "interrupt", "interval", "intra", "invalid", "invoke", "io", "ipc", "is",
    "is_async", "is_asynchronized_op", "is_backward", "is_nonzero", "is_p2p", "isinstance", "iso", "issubclass", "it",
    "item", "iter", "iteration", "jax", "jit", "job", "join", "json", "k80", "kb", "kept", "kernel", "kernel_backend",
    "kernel_dispatch", "kernel_file", "kernel_hash", "kernel_id", "kernel_kwargs", "kernel_name", "kernel_version",
    "kernelname", "kernels", "key", "keys", "kg", "khz", "kind", "kineto", "l1", "l2", "l2_cache", "l4", "l40", "l40s",
    "label", "labels", "lambda", "lane", "laptop", "large", "last", "last_completed_collective",
    "last_enqueued_collective", "last_started_collective", "late", "latency", "launch", "launch_id", "launch_type",
    "launched", "launches", "layer", "layer_norm", "layernorm", "layout", "len", "length", "lengths", "level", "lib",
    "lib64", "library", "light_memory_dump", "limit", "line", "linear", "lineno", "link", "linux", "list", "listcomp",
    "literal", "little", "llc", "lm", "load", "loads", "loc", "local", "local_id", "local_size", "localhost",
    "location", "lock", "log", "logging", "long", "long_name", "loop", "loss", "low", "lower", "lts", "main", "major",
    "major_version", "malloc", "managed", "map", "mark", "marker", "marker_api", "markers", "master", "matmul", "max",
    "max_regs", "max_shmem", "max_threads", "maxblocksperprocessor", "maxregspermultiprocessor",
    "maxsharedmemorypermultiprocessor", "maxsharedmemperblockoptin", "maxthreadsperblock",
    "maxthreadspermultiprocessor", "mb", "mclk", "mean", "measured", "mem", "memalloc", "memcopy", "memcpy", "memfree",
    "memory", "memory_copy", "memset", "memsettype", "message", "meta", "metadata", "method", "metric", "metrics",
    "mhz", "mi200", "mi210", "mi250", "mi250x", "mi300", "mi300a", "mi300x", "mi325x", "mi350x", "mi355x", "mib",
    "microseconds", "min", "min_duration_ns", "mindspore", "minor", "minor_version", "minute", "mlir", "mm", "mnt",
    "mod", "mode", "model", "model_flops", "model_loading_array", "model_loading_uri", "module", "modules",
    "monotonic", "month", "more", "mps", "ms", "mscclpp", "msg", "msg_size", "mtia", "mtreg_occupancy", "mul", "mul_",
    "multiprocessor", "multiprocessors", "mutex", "name", "names", "namespace", "nan", "nanoseconds", "native", "nccl",
    "nccl_comm", "nccl_version", "ncclcomm", "ncclredop", "nelems", "network", "new", "next", "nid", "nlp", "nn", "no",
    "node", "node_id", "nodes", "none", "normal", "not", "note", "notify", "notify_record", "notify_wait", "np", "npu",
    "ns", "nsight", "nsys", "null", "num", "num_gpus", "num_registers", "num_regs", "num_stages", "num_warps", "numa",
    "number", "numbers", "numpy", "numsms", "nvidia", "nvl", "nvlink", "nvtx", "oam", "object", "occupancy", "of",
    "off", "offset", "old", "olive", "on", "one", "onnx", "op", "op_id", "op_name", "op_schema", "opcode", "open",
    "operation", "operator", "operators", "ops", "opt", "optimizer", "options", "optype", "orange", "order", "orig",
    "original", "other", "other_events", "others", "out", "out_msg_nelems", "out_split_size", "outermost", "output",
    "output_dtypes", "output_sizes", "output_strides", "output_tensor", "output_types", "outputs", "overhead",
    "overlap", "overlapped", "overlapping", "own", "owner", "p100", "p2p", "p2p_seq_id", "pack", "packages", "packet",
    "paddle", "paddlepaddle", "page", "pageable", "pages", "parallel", "param", "parameter", "parameters", "params",
    "parent", "parent_id", "part", "partial", "partition", "path", "pcie", "peak", "peer", "pending", "per", "percent",
    "perf", "performance", "permute", "pg", "pg509", "pg_config", "pg_count", "pg_desc", "pg_id", "pg_name", "pg_size",
    "pg_status", "ph", "phase", "physical", "pid", "pid_uid", "pids", "pin", "pinned", "pjitfunction", "placement",
    "plane", "point", "pointer", "pool", "port", "power", "pp", "precision", "prev", "previous", "prim", "primary",
    "prims", "print", "prio", "priority", "priv", "privateuse1", "proc", "procedure", "process", "process_group",
    "process_id", "process_labels", "process_name", "process_sort_index", "processes", "processing", "processor",
    "producer", "profile", "profile_memory", "profilebatchdata", "profiler", "profilerstep", "program", "program_id",
    "properties", "protocol", "prx", "ps", "pt_autograd", "pt_main_thread", "ptds", "pth", "ptop", "ptr", "purple",
    "push", "py", "pyc", "python", "python3", "python_function", "pytorch", "quadro", "quantized", "query", "queue",
    "queue_id", "queue_ts", "queued", "queues", "radeon", "ragged", "rail_animation", "rail_idle", "rail_load",
    "rail_response", "random", "range", "range_id", "ranges", "rank", "ranks", "raw", "rccl", "rd", "re", "read",
    "reader", "reason", "reasons", "receive", "record", "record_function", "record_id", "record_param_comms",
    "record_shapes", "recorded", "recv", "red", "redop", "reduce", "reduce_inline", "reduce_kernel", "reduce_scatter",
    "reduce_scatter_tensor_coalesced", "reducer", "reduction", "ref", "refs", "region", "regions", "register",
    "registers", "registers_per_thread", "regs", "regsperblock", "regspermultiprocessor", "relative", "release",
    "relu", "remaining", "remote", "renderer", "replica", "request", "requested", "requests", "reserved", "reshape",
    "resident", "resource", "resources", "result", "retired", "rf_id", "rmsprop", "rocm", "rocprof", "rocprofiler",
    "role", "root", "round", "row", "rpc", "rtx", "run", "run_backward", "run_id", "running", "runtime", "s16", "s32",
    "s64", "s8", "sample", "sampled", "samples", "sampling", "scalar", "scalarlist", "scale", "scatter", "sched",
    "schedule", "scheduled", "scheduling", "schema", "schema_version", "schemaversion", "sclk", "scope", "scopes",
    "score", "sdma", "search", "second", "seconds", "section", "seg", "segment", "segments", "self", "semaphore",
    "send", "sendrecv", "seq", "seqnum", "sequence", "server", "service", "session", "set", "setattr", "setcomp", "sf",
    "sgd", "sgemm", "shape", "shapes", "shared", "shared_memory", "sharedmemoryperblockoptin", "sharedmemperblock",
    "sharedmemperblockoptin", "sharedmempermultiprocessor", "shm", "short", "short_name", "signal", "silu", "simd",
    "single", "site", "size", "size_bytes", "sizes", "sleep", "slice", "slices", "slices_ns", "slot", "sm", "small",
    "smid", "sms", "snap", "snapshot", "so", "socket", "softmax", "sort", "sort_index", "sortindex", "source",
    "source_info", "source_stack", "space", "span_indx", "spans", "speed", "split", "sram", "src", "src_device",
    "stack", "stack_frame", "stackframe", "stackframes", "stacks", "stage", "start", "start_ns", "start_ts", "started",
    "startup", "startvalue", "stat", "state", "states", "static", "static_shared", "statistics", "stats", "status",
    "std", "step", "step_name", "stepname", "steps", "stop", "stopped", "stream", "stream_id", "stream_name",
    "streamid", "streams", "stride", "strides", "string", "strings", "sub", "submit", "submitted", "subrange", "sum",
    "summary", "summed", "svg", "switch", "sxm", "sxm2", "sxm4", "sxm5", "symbol", "sync", "synchronization",
    "synchronize", "synchronous", "sys", "system", "systems", "systemtraceevents", "t4", "table", "tag", "target",
    "task", "task_type", "tasks", "tdur", "temp", "temperature", "tensor", "tensorboard", "tensorcore", "tensorflow",
    "tensorlist", "tensors", "term", "terrible", "tesla", "test", "text", "tf", "tf_op", "tflops", "tfnode", "tgid",
    "tgt", "thd", "theoretical", "thinned", "thinned_count", "thinned_ns", "thread", "thread_id", "thread_name",
    "thread_sort_index", "thread_state", "thread_state_iowait", "thread_state_runnable", "thread_state_running",
    "thread_state_sleeping", "thread_state_unknown", "threads", "threads_per_block", "tick", "ticks", "tid", "tile",
    "time", "time_created_ns", "time_discovered_completed_ns", "time_discovered_started_ns", "timed", "timed_out",
    "timeline", "timeout", "timeout_ms", "timeouts", "timestamp", "timestamps", "titan", "tmp", "to", "tokens", "tool",
    "top", "topology", "torch", "torch_npu", "torchvision", "total", "totalglobalmem", "tp", "tpc", "tpu", "tpu_core",
    "trace", "trace_id", "traceevents", "tracename", "traces", "tracing", "track", "tracks", "transfer", "transport",
    "transpose", "triton", "true", "truncated", "ts", "tts", "tx", "type", "typename", "types", "u16", "u32", "u64",
    "u8", "uid", "uint", "uint16", "uint32", "uint64", "uint8", "ull", "unattributed", "unit", "unitrace", "units",
    "unknown", "unnamed", "unpack", "unpageable", "unrolled_elementwise_kernel", "unsigned", "until", "unused",
    "update", "uprobe", "us", "used", "user", "user_annotation", "usr", "utilization", "uuid", "uvm", "v100", "v100s",
    "v4", "v5", "v5e", "v5p", "v6e", "value", "value_type", "values", "valuetype", "var", "variable", "vector",
    "vectorized_elementwise_kernel", "vendor", "version", "view", "virtual", "visible", "void", "vram",
    "vsync_highlight_color", "wait", "wait_on", "wait_on_cuda_event_id", "wait_on_cuda_event_record_corr_id",
    "wait_on_stream", "waiting", "wall", "warp", "warps", "warps_per_sm", "warpsize", "wd", "weight", "wgmma", "white",
    "wide", "width", "window", "with", "with_flops", "with_modules", "with_stack", "work", "work_id", "worker",
    "workers", "workspace", "world", "world_size", "worldsize", "wrap", "wrapper", "write", "write_value", "x86_64",
    "xla", "xline", "xpid", "xplane", "xpu", "year", "yellow", "zero", "zero_", "zero_grad", "zip",
};
/* clang-format on */
enum { LONGEST = 48 };

typedef struct word_text {
    const char *data;
    size_t size;
} word_text;

static int compare_word(const void *key, const void *item)
{
    const word_text *word = key;
    const char *known = *(const char *const *)item;
    int order = strncmp(word->data, known, word->size);
    return order ? order : known[word->size] ? -1 : 0;
}

static bool is_known(const char *word, size_t size)
{
    char lower[LONGEST];
    if (size >= LONGEST) return false;
    for (size_t i = 0; i < size; i++) lower[i] = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] | 0x20) : word[i];
    return bsearch(&(word_text){lower, size}, words, sizeof words / sizeof *words, sizeof *words, compare_word);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hexadecimal(const char *word, size_t size)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    if (size < 3 || word[0] != '0' || (word[1] | 0x20) != 'x') return false;
    for (size_t i = 2; i < size; i++) {
        if (!memchr(digits, word[i], sizeof digits - 1)) return false;
    }
    return true;
}

/* "AddmmBackward0": the numbers are PyTorch's; a user's own class has none. */
static bool is_backward(const char *word, size_t size)
{
    static const char end[] = "Backward";
    size_t letters = size;
    while (letters && is_digit(word[letters - 1])) letters--;
    return letters < size && letters >= sizeof end && word[0] >= 'A' && word[0] <= 'Z' &&
           hd_ends_with(word, letters, end);
}

bool anon_is_public(const char *word, size_t size)
{
    size_t letters = size;
    if (size <= 2 && (unsigned char)word[0] < 0x80 && (unsigned char)word[size - 1] < 0x80) return true;
    if (is_hexadecimal(word, size) || is_known(word, size) || is_backward(word, size)) return true;
    if (is_digit(word[0]) && (word[size - 1] | 0x20) == 'e') letters--; /* 1e-5 */
    while (letters && (is_digit(word[letters - 1]) || word[letters - 1] == '_')) letters--;
    return letters == 0 || (letters < size && is_known(word, letters));
}

static bool is_name(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == ':' || c == '.';
}

bool anon_is_framework(hd_string name)
{
    static const char *const namespaces[] = {
        "aten::", "prims::", "prim::", "c10d::", "c10::", "at::", "nccl:", "gloo:", "torchvision::", "torch::"};
    bool begins = false;
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) begins |= hd_string_begins(name, namespaces[i]);
    for (size_t i = 0; i < name.size && begins; i++) begins = is_name(name.data[i]);
    return begins;
}

bool anon_is_path(hd_string text)
{
    static const char *const ends[] = {".py", ".so", ".cpp", ".cu", ".cc", ".c", ".h", ".json", ".pt", ".txt"};
    if (memchr(text.data, '/', text.size) || memchr(text.data, '\\', text.size)) return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (hd_ends_with(text.data, text.size, ends[i])) return true;
    }
    return false;
}
