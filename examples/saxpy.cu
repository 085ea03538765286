// saxpy.cu - two streams of kernels and copies, to be recorded. Nothing in it knows of Heddle:
//
//     nvcc -g -o saxpy saxpy.cu && heddle record -o saxpy.heddle ./saxpy && heddle view saxpy.heddle
#include <cstdio>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status = (call);                                                                                   \
        if (status != cudaSuccess) {                                                                                   \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                                       \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

__global__ void saxpy(int count, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] += a * x[i];
}

int main()
{
    const int count = 1 << 20, rounds = 100;
    std::vector<float> ones(count, 1.0f), result(count);
    for (int s = 0; s < 2; s++) {
        cudaStream_t stream;
        float *x = nullptr, *y = nullptr;
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaMalloc(&x, count * sizeof *x));
        CHECK(cudaMalloc(&y, count * sizeof *y));
        CHECK(cudaMemcpyAsync(x, ones.data(), count * sizeof *x, cudaMemcpyHostToDevice, stream));
        CHECK(cudaMemsetAsync(y, 0, count * sizeof *y, stream));
        for (int i = 0; i < rounds; i++) saxpy<<<(count + 255) / 256, 256, 0, stream>>>(count, 2.0f, x, y);
        CHECK(cudaMemcpyAsync(result.data(), y, count * sizeof *y, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        if (result[count - 1] != 2.0f * rounds) return 1;
        CHECK(cudaFree(x));
        CHECK(cudaFree(y));
        CHECK(cudaStreamDestroy(stream));
    }
    std::puts("ok");
    return 0;
}
