# A small trace of PyTorch, a later one, and stacks: what the tests of merge and flame read.
cat > train.json <<'JSON'
{"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"python"}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":100,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":30},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":20,"dur":5,"args":{"correlation":7}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":110,"dur":30},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":120,"dur":5,"args":{"correlation":8}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":150,"dur":5,"args":{"correlation":9}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":160,"dur":5,"args":{"correlation":10}},
{"ph":"X","cat":"kernel","name":"void gemm<float, 64>(float*)","pid":0,"tid":7,"ts":40,"dur":12.345,"args":{"correlation":7,"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"void gemm<float, 64>(float*)","pid":0,"tid":7,"ts":140,"dur":10.005,"args":{"correlation":8,"device":0,"stream":7}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":8,"ts":170,"dur":2,"args":{"correlation":9,"device":0,"stream":8,"bytes":4096}},
{"ph":"X","cat":"kernel","name":"lost","pid":0,"tid":7,"ts":180,"dur":1.5,"args":{"correlation":99,"device":0,"stream":7}}
]}
JSON
sed 's/gemm<float, 64>/gemm<float, 128>/; s/"dur":12.345/"dur":20/; /Memcpy HtoD/d' train.json > later.json
cat > stacks.txt <<'TEXT'
3000020500 my app 1 1 0 _start;main;train;__device_stub__Z4gemmIfLi64EEvPf;cudaLaunchKernel
3000120600 my app 1 1 0 main;train;__device_stub__Z4gemmIfLi64EEvPf;cudaLaunchKernel+0x1f
3000150400 my app 1 1 1 main;load;cudaMemcpyAsync
3000160500 my app 1 1 1 main;idle;cudaLaunchKernel
3900000000 my app 1 1 1 main;late;cudaLaunchKernel
TEXT
