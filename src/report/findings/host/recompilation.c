/* recompilation.c - code is compiled, or kernels are chosen by trying, while the program runs */
#include "report/findings/finding.h"

/* Names of the phases of torch.compile, Inductor and Triton, as ranges and as Python functions, but not of calls to
 * compiled code; those of JAX and XLA; and the trials of cuDNN and MIOpen with benchmark = True. */
static bool is_one(hd_string name)
{
    static const char *const words[] = {"(dynamo_timed)",
                                        "_compile.compile_inner",
                                        "entire_frame_compile",
                                        "backend_compile",
                                        "compile_fx_inner",
                                        "fx_codegen_and_compile",
                                        "autotuner.benchmark",
                                        "Autotuner.benchmark",
                                        "PjRtCompile",
                                        "PyClient::Compile",
                                        "XlaCompile",
                                        "BackendCompile",
                                        "GpuCompiler::",
                                        "AutotunerCompile",
                                        "cudnnFind",
                                        "miopenFind",
                                        ": do_bench"};
    static const char *const functions[][2] = {{"torch/_dynamo/convert_frame.py", ": "},
                                               {"torch/_inductor/compile_fx.py", ": compile_fx"},
                                               {"torch/_inductor/graph.py", ": "},
                                               {"triton/compiler/compiler.py", ": compile"},
                                               {"triton/runtime/autotuner.py", ": _bench"}};
    if (FINDINGS_HAS(name, words)) return true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (hd_string_holds(name, functions[i][0]) && hd_string_holds(name, functions[i][1])) return true;
    return false;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    return findings_find_named(f, rule, is_one, "Code is compiled, or kernels are chosen by trying,", "times", err);
}

const finding_rule finding_recompilation = {
    .about.code = "recompilation",
    .about.severity = "warning",
    .about.meaning = "code is compiled or tuned while the program runs",
    .about.advice =
        "Compile before the loop: warm up with each shape; torch.compile(dynamic=True) or padded shapes if it compiles "
        "again (TORCH_LOGS=recompiles says why); cudnn.benchmark = False if shapes change; keep the caches "
        "(TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR).",
    .find = find,
};
