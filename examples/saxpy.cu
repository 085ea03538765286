/* saxpy.cu - a CUDA program with something to see: heddle record -o saxpy.heddle -- ./saxpy, then heddle view saxpy.heddle */
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

static const int COUNT = 1 << 22, STREAMS = 4, STEPS = 10;

__global__ void saxpy(float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) y[i] += a * x[i];
}

static bool fine(cudaError_t status)
{
    if (status != cudaSuccess) std::fprintf(stderr, "saxpy: %s\n", cudaGetErrorString(status));
    return status == cudaSuccess;
}

int main()
{
    std::vector<float> host(COUNT, 1.0f);
    const size_t bytes = COUNT * sizeof(float);
    float *x[STREAMS], *y[STREAMS];
    cudaStream_t streams[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        if (!fine(cudaStreamCreate(&streams[s])) || !fine(cudaMalloc(&x[s], bytes)) || !fine(cudaMalloc(&y[s], bytes))) return 1;
        cudaMemcpyAsync(x[s], host.data(), bytes, cudaMemcpyHostToDevice, streams[s]);
        cudaMemsetAsync(y[s], 0, bytes, streams[s]);
    }
    for (int i = 0; i < STEPS * STREAMS; i++) {
        saxpy<<<(COUNT + 255) / 256, 256, 0, streams[i % STREAMS]>>>(2.0f, x[i % STREAMS], y[i % STREAMS]);
    }
    if (!fine(cudaGetLastError()) || !fine(cudaDeviceSynchronize())) return 1;
    if (!fine(cudaMemcpy(host.data(), y[0], bytes, cudaMemcpyDeviceToHost))) return 1;
    std::printf("%g\n", host[COUNT - 1]); /* 2 a step */
    return host[COUNT - 1] == 2.0f * STEPS ? 0 : 1;
}
