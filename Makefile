# Everything a person does with this tree. `make help` lists it. Meson does the work, in build/*.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60

# Debian's own tools first: a Python of the user's may shadow the one that Meson needs.
MESON := $(shell command -v /usr/bin/meson || echo meson)
SANITIZE := -Db_sanitize=address,undefined -Db_lundef=false
# What sanitizers put into code takes longer to compile than the code: -Og takes three quarters of the time of -O1, and the
# tests no longer; names and lines for reports half the time of more. (-Og refuses xxhash's always_inline, and warns of
# what it has not followed.) UBSan traps, and ASan's report of the signal has the line: its own tables are larger than the
# code, and all are read at each end of a program, for leaks.
LEAN := -Doptimization=g -Ddebug=false -Db_ndebug=false -Dbench=false -Dgrouped=true
LEAN_C := -g1 -DXXH_NO_INLINE_HINTS=1 -Wno-maybe-uninitialized
# Each test is a program, and gold links in half the time of bfd's ld.
LD_FAST = $(if $(shell command -v ld.gold),CC_LD=gold)
# What `make test` leaves to `make test-all`, and what that runs with sanitizers (tests/meson.build says why).
PLAIN := --no-suite slow --no-suite long --no-suite fuzz
SANITIZED := --no-suite command --no-suite long
# Each test runs under time(1), which writes down its CPU time: tools/test_summary.py holds that against tests/budgets.txt.
# Time limits only guard against hangs, and grow on a machine that is slow at the moment (tests/patience.py).
#   $(call RUN_TESTS,BUILD,LOG) OPTIONS OF MESON
RUN_TESTS = p=$${HEDDLE_TEST_PATIENCE:-$$(tests/patience.py)}; \
    HEDDLE_TEST_PATIENCE=$$p $(MESON) test -C $(1) --logbase $(2) --print-errorlogs -t $$p \
    $(if $(TIME),--wrapper "$(TIME) -q -a -o $(CURDIR)/$(1)/meson-logs/cpu.txt -f '%U %S %C'")
TIME = $(shell command -v /usr/bin/time)
# Browsers, servers, launchers and what records wait for one another a third of their time: more tests at once than there
# are cores.
export MESON_TESTTHREADS ?= $(shell echo $$(($$(nproc) * 3 / 2 + 1)))
# A build as far as some of its tests need it.
#   $(call BUILD_FOR,BUILD,OPTIONS)
BUILD_FOR = tools/build_for.py $(MESON) $(1) $(2)
# A command that says nothing unless it fails.
quiet = @out=$$($(1) 2>&1) || { echo "$$out" >&2; exit 1; }

.DEFAULT_GOAL := build
.PHONY: help setup setup-test build release check-release test-reproducible portable demo static-libs dist test-dist wheel test-wheel static-libs-aarch64 dist-aarch64 test-dist-aarch64 wheel-aarch64 test-wheel-aarch64 deb test-deb wasm test-wasm site test-site test test-all build-sanitized test-threads test-gpu test-musl bench test-big zoo fuzz install format check-format clean

help:                 ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

setup:                ## install what is missing (Debian and Ubuntu)
	@tools/setup.sh

build/release/build.ninja: | setup
	$(call quiet,$(MESON) setup build/release -Dbuildtype=release -Dtests=false -Dprefix=$(abspath $(PREFIX)))

build: setup build/release/build.ninja  ## build the command and the library in build/release (the default)
	@$(MESON) compile -C build/release

build/portable/build.ninja: | setup
	$(call quiet,CC=gcc $(MESON) setup build/portable -Dbuildtype=release -Dportable=true -Dtests=false -Dbench=false -Dman=false)

portable: setup build/portable/build.ninja  ## the libraries loaded into other programs, for glibc 2.17 on, in build/portable
	@$(MESON) compile -C build/portable heddle-cuda:shared_module heddle-capture:shared_library
	@tests/capture/check_portable.py 2.17 build/portable/src/capture/cuda/libheddle-cuda.so build/portable/src/capture/libheddle-capture.so

STATIC := -Dbuildtype=release -Dportable=true -Dprefer_static=true -Dline_editing=disabled -Dmpi=disabled -Dpkgconfig.relocatable=true -Dtests=false -Dbench=false \
    -Dprefix=/ -Dlibdir=lib

# What is linked with these runs from glibc 2.28 on.
#   $(call OLD_GLIBC,FOLDER)
OLD_GLIBC = -Dc_link_args='-B$(abspath $(1))/ -L$(abspath $(1))'

static-libs:
	@tools/setup.sh dist
	@tools/static_libs.sh
	@tools/old_glibc.sh

build/static/build.ninja: | setup static-libs
	$(call quiet,CC=gcc PKG_CONFIG_PATH=$(abspath build/dist-libs/lib/pkgconfig) $(MESON) setup build/static $(STATIC) $(call OLD_GLIBC,build/glibc-2.28))

dist: static-libs wasm build/static/build.ninja  ## an archive in build/dist that runs on any Linux from glibc 2.28 on, with nothing installed
	@$(MESON) compile -C build/static
	@tools/dist.sh build/static build/dist

test-dist: dist       ## unpack that archive in an empty root, and use it there
	@tests/tree/dist.py build/dist/heddle-*.tar.zst

wheel: static-libs wasm   ## the Python package in build/wheel, with all inside: pip install build/wheel/heddle_trace-*.whl
	@tools/wheel.sh build/wheel

test-wheel: wheel     ## install it in a fresh virtual environment of another folder, and use it there
	@tests/python/check_wheel.py build/wheel/heddle_trace-*.whl

static-libs-aarch64:
	@tools/setup.sh dist-aarch64
	@tools/static_libs.sh aarch64
	@tools/old_glibc.sh aarch64

build/static-aarch64/build.ninja: | setup static-libs-aarch64
	$(call quiet,$(MESON) setup build/static-aarch64 --cross-file tools/aarch64-linux-gnu.ini \
	    --cross-file build/dist-libs-aarch64/cross.ini $(STATIC) $(call OLD_GLIBC,build/glibc-2.28-aarch64))

dist-aarch64: static-libs-aarch64 wasm build/static-aarch64/build.ninja  ## the same for aarch64, compiled here
	@$(MESON) compile -C build/static-aarch64
	@tools/dist.sh build/static-aarch64 build/dist-aarch64 aarch64

test-dist-aarch64: dist-aarch64  ## the unit tests, and what is in that archive, under qemu-user
	@tests/tree/dist_aarch64.sh build/static-aarch64 build/dist-aarch64

wheel-aarch64: static-libs-aarch64 wasm  ## the Python package for aarch64 in build/wheel-aarch64, compiled here
	@tools/wheel.sh build/wheel-aarch64 aarch64

test-wheel-aarch64: wheel-aarch64  ## import it, and run its command, under qemu-user
	@tests/python/check_wheel.py build/wheel-aarch64/heddle_trace-*.whl

deb:                  ## Debian's packages, in build/deb
	@tools/setup.sh deb
	@tools/deb.sh build/deb

test-deb: deb         ## install, use and remove them in a small Debian (debootstrap, as root), and do what packaging/Containerfile says
	@tests/tree/deb.py build/deb

wasm: setup           ## the engine of `heddle view --save` as WebAssembly, in build/wasm/engine.html
	@tools/wasm.sh

test-wasm: build wasm ## its answers against the server's, its package in Node, and the page's tests without a server
	@tests/wasm/run.py --heddle build/release/src/cli/heddle
	@tests/wasm/firefox.py --heddle build/release/src/cli/heddle || [ $$? = 77 ]
	@tests/web/run.py --heddle build/release/src/cli/heddle --engine build/wasm --test page_open,page_draw,page_keys,page_mouse,page_select,page_query,page_tracks,page_truth,page_real,page_seen,page_trouble,page_adversarial

site: build wasm      ## the documentation and the viewer as a web site in build/site, which needs no server of its own
	@tools/setup.sh site
	@mkdir -p build/site-viewer
	@build/release/src/cli/heddle view -q --save build/site-viewer/viewer.html
	@build/release/src/cli/heddle synth -q --ranks 4 --steps 6 --late-loader 1=8ms -o build/site-viewer/job.json.gz
	@build/release/src/cli/heddle view -q --save build/site-viewer/example.html build/site-viewer/job_rank*.json.gz
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 0) NO_MKDOCS_2_WARNING=1 \
	 build/site-tools/bin/mkdocs build --quiet -f tools/site/mkdocs.yml

test-site: site       ## its links, and the site in a browser
	@tests/docs/site.py build/site

release:              ## check all that a release needs, and prepare it in build/release-VERSION, unpublished (RELEASE_KEY=… signs)
	@tools/release.py

check-release:        ## the part of these checks that takes no time
	@tools/release.py --check

test-reproducible:    ## build the archive twice, in two folders: both are the same, bit by bit
	@tools/release.py --twice dist

screenshots: build    ## make the pictures of docs/view.md, in docs/images (Chromium)
	@tools/screenshots.py --heddle build/release/src/cli/heddle

demo: build           ## build, then repair a damaged trace before your eyes
	@tools/demo.sh build/release/src/cli/heddle

build/asan/build.ninja: | setup-test
	$(call quiet,CC=gcc $(LD_FAST) $(MESON) setup build/asan $(LEAN) -Dwerror=true -Dc_args='$(LEAN_C) -fsanitize-undefined-trap-on-error' $(SANITIZE))

build/plain/build.ninja: | setup-test
	$(call quiet,CC=clang $(LD_FAST) $(MESON) setup build/plain -Doptimization=1 -Ddebug=false -Dwerror=true -Db_ndebug=false -Dbench=false -Dpython=auto -Dgrouped=true)

build/tsan/build.ninja: | setup-test
	$(call quiet,CC=gcc $(LD_FAST) $(MESON) setup build/tsan $(LEAN) -Dc_args='$(LEAN_C)' -Db_sanitize=thread -Db_lundef=false)

setup-test:
	@tools/setup.sh test-packages

test: setup-test build/plain/build.ninja  ## the tests (clang)
	@rm -f build/*/meson-logs/testlog* build/*/meson-logs/cpu.txt
	@tools/setup.sh test & tools=$$!; $(call BUILD_FOR,build/plain,$(PLAIN)) || { wait; exit 1; }; wait $$tools
	@status=0; \
	 $(call RUN_TESTS,build/plain,testlog) $(PLAIN) || status=1; \
	 tools/test_summary.py build/plain || status=1; \
	 exit $$status

# Tests wait for one another a fifth of their time: meanwhile what is tested next is compiled.
build-sanitized: build/asan/build.ninja build/tsan/build.ninja
	@$(call BUILD_FOR,build/asan,$(SANITIZED)) && $(call BUILD_FOR,build/tsan,--suite threads)
	@tools/wasm.sh || [ $$? = 77 ]

test-all: setup-test  ## these, with ASan and UBSan (gcc) those of the library and the command, with TSan those of threads, the engine in WebAssembly, and what takes long
	@status=0; mkdir -p build; \
	 nice -n 19 $(MAKE) --no-print-directory build-sanitized >build/sanitized.log 2>&1 & built=$$!; \
	 $(MAKE) --no-print-directory test || status=1; \
	 wait $$built || { cat build/sanitized.log; exit 1; }; \
	 $(call BUILD_FOR,build/plain,--suite long) >/dev/null || exit 1; \
	 { long=0; $(call RUN_TESTS,build/plain,testlog-long) --suite long --num-processes 2 || long=1; \
	   $(call RUN_TESTS,build/tsan,testlog) --suite threads --num-processes 2 || long=1; exit $$long; } >build/long.log 2>&1 & long=$$!; \
	 $(call RUN_TESTS,build/asan,testlog) $(SANITIZED) --num-processes 3 || status=1; \
	 wait $$long || status=1; cat build/long.log; \
	 tools/test_summary.py build/plain build/asan build/tsan || status=1; \
	 exit $$status

test-gpu: build       ## the acceptance test on a GPU (ONLY=driver,torch for parts of it); without one it says what it would do
	@tests/gpu/run.py --heddle build/release/src/cli/heddle --out build/gpu-results $(if $(ONLY),--only $(ONLY))

test-threads: build/tsan/build.ninja  ## all unit tests under ThreadSanitizer
	@$(call RUN_TESTS,build/tsan,testlog) --no-suite slow --no-suite command --no-suite long --no-suite tree

test-musl: build build/plain/build.ninja  ## results of gcc, clang and another C library, musl, byte by byte over all fixtures
	@tools/musl.sh
	@ninja -C build/plain --quiet src/cli/heddle
	@tests/tree/musl.py build/release/src/cli/heddle build/musl/src/cli/heddle build/plain/src/cli/heddle

bench:                ## the benchmarks, each beside its peer
	@tools/setup.sh bench
	@$(MAKE) --no-print-directory build
	@bench/run.sh build/release

test-big: build build/plain/build.ninja  ## every command once on 10^7 and 10^8 events, with 8 GiB (hours; EVENTS=SIZE,SIZE for others); 10^7 launches in each mode of the tracer
	@bench/measure_big.py build/release/src/cli/heddle build/big $(if $(EVENTS),--events $(EVENTS))
	@$(MESON) compile -C build/plain fake_app heddle-cuda src/cli/heddle tests/capture/fake_cuda/cupti
	@python3 tests/record/launches.py build/plain

zoo: build            ## what other tools make of the traces of zoo/, in build/zoo: zoo.md, zoo.html (docs/zoo.md)
	@tools/setup.sh test
	@zoo/peers.py build/zoo-peers
	@zoo/run.py --heddle build/release/src/cli/heddle

build/fuzz/build.ninja: | setup
	$(call quiet,CC=clang $(MESON) setup build/fuzz -Dbuildtype=debugoptimized -Db_ndebug=false -Db_lundef=false \
	    -Dfuzz=true -Dtests=false -Dbench=false -Dman=false)

fuzz: setup build/fuzz/build.ninja  ## each fuzz target for FUZZ_SECONDS (60) seconds
	@$(MESON) compile -C build/fuzz
	@tools/fuzz.sh build/fuzz $(FUZZ_SECONDS)

install: build        ## install under PREFIX (/usr/local); DESTDIR is honoured
	@$(MESON) configure build/release -Dprefix=$(abspath $(PREFIX))
	@$(MESON) install -C build/release
	@if [ -f build/wasm/engine.html ]; then install -D -m 644 build/wasm/engine.html "$(DESTDIR)$(abspath $(PREFIX))/share/heddle/engine.html"; fi

format:               ## clang-format over the tree
	@tools/format.sh

check-format:         ## say what clang-format would change
	@tools/format.sh --check

clean:                ## remove build/
	rm -rf build
