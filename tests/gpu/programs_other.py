"""CuPy or JAX, each with a few steps whose kernels are known to have run; run by part_python.py.

  programs_other.py cupy|jax RESULT [FOLDER]      FOLDER: where jax.profiler writes its XPlane
"""
import json
import sys
import time


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def run_cupy(result):
    import cupy
    add = cupy.RawKernel('extern "C" __global__ void heddle_cupy_add(float *x, int n)'
                         "{ int i = blockDim.x * blockIdx.x + threadIdx.x; if (i < n) x[i] += 1.0f; }", "heddle_cupy_add")
    x = cupy.zeros(1 << 16, dtype=cupy.float32)
    add((256,), (256,), (x, x.size))
    cupy.cuda.runtime.deviceSynchronize()
    result["begin"] = now()
    for _ in range(20):
        add((256,), (256,), (x, x.size))
    cupy.cuda.runtime.deviceSynchronize()
    result["end"], result["launches"], result["wrong"] = now(), 20, int((x != 21).sum())


def run_jax(result, folder):
    import jax
    import jax.numpy as jnp
    if jax.default_backend() != "gpu":
        sys.exit("jax has no GPU: " + jax.default_backend())

    @jax.jit
    def step(x):
        return jnp.tanh(x @ x).sum()
    x = jax.random.normal(jax.random.PRNGKey(7), (512, 512))
    step(x).block_until_ready()
    if folder:
        jax.profiler.start_trace(folder)
    result["begin"] = now()
    for _ in range(20):
        step(x).block_until_ready()
    result["end"], result["launches"] = now(), 20
    if folder:
        jax.profiler.stop_trace()


if __name__ == "__main__":
    outcome = {}
    if sys.argv[1] == "cupy":
        run_cupy(outcome)
    else:
        run_jax(outcome, sys.argv[3] if len(sys.argv) > 3 else None)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(outcome, file)
