#!/bin/sh
# Builds and runs the check.
set -e
cd "$(dirname "$0")"
export PATH="$PATH:/usr/local/cuda/bin"
[ -s ampere_product.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o ampere_product.cubin ampere_product.cu
[ -s causal_attention.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o causal_attention.cubin causal_attention.cu
[ -s gather_sums.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o gather_sums.cubin gather_sums.cu
[ -s hopper_product.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_90a -o hopper_product.cubin hopper_product.cu
[ -s control.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o control.cubin control.cu
[ -s padded.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o padded.cubin padded.cu
[ -s roles.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o roles.cubin roles.cu
[ -s signs.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o signs.cubin signs.cu
[ -s tf32_product.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o tf32_product.cubin tf32_product.cu
[ -s three_warps.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o three_warps.cubin three_warps.cu
[ -s types.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o types.cubin types.cu
[ -s written_and_read.cubin ] || nvcc -std=c++17 -O3 -cubin -arch=sm_80 -o written_and_read.cubin written_and_read.cu
nvcc -std=c++17 -o check main.cpp *_launch.cpp -lcuda
./check
