/* fuzz_rocpd.c - libFuzzer target: databases of ROCm 7; what fuzz_nsys.c asks of any SQLite file */
#include "fuzz_nsys.c"
