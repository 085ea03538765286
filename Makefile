# Everything a person does with this tree. `make help` lists it. Meson does the work, in build/*.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60

# Debian's own tools first: a Python of the user's may shadow the one that Meson needs.
MESON := $(shell command -v /usr/bin/meson || echo meson)
SANITIZE := -Db_sanitize=address,undefined -Db_lundef=false
# What sanitizers put into code takes longer to compile than the code: -O1, and names and lines for their reports, take
# half the time. UBSan traps, and ASan's report of the signal has the line: its own tables are larger than the code, and
# all are read at each end of a program, for leaks.
LEAN := -Doptimization=1 -Ddebug=false -Db_ndebug=false -Dbench=false
# What can differ without sanitizers, and what need not run with them; tests/meson.build says which in "plain" and "data",
# and why.
PLAIN := --suite plain --suite data --suite capture --suite cli --suite devices --suite record --no-suite slow
# Random tests make a tenth of their rounds here, where all takes ten times as long, and a third of them under ASan.
THREAD_TESTS = HEDDLE_TEST_ROUNDS=$${HEDDLE_TEST_ROUNDS:-0.1} $(MESON) test -C build/tsan --print-errorlogs
# Browsers, servers and what records wait for one another a third of their time: one test more than there are cores, and
# meanwhile the next build is compiled.
export MESON_TESTTHREADS ?= $(shell echo $$(($$(nproc) + 1)))
NEXT := build/clang/compile.log
# A command that says nothing unless it fails.
quiet = @out=$$($(1) 2>&1) || { echo "$$out" >&2; exit 1; }

.DEFAULT_GOAL := release
.PHONY: help setup release portable demo static-libs dist test-dist wheel test-wheel static-libs-aarch64 dist-aarch64 test-dist-aarch64 deb test-deb test test-threads test-gpu bench fuzz install format check-format clean

help:                 ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

setup:                ## install what is missing (Debian and Ubuntu)
	@tools/setup.sh

build/release/build.ninja: | setup
	$(call quiet,$(MESON) setup build/release -Dbuildtype=release -Dtests=false -Dprefix=$(abspath $(PREFIX)))

release: setup build/release/build.ninja  ## build the command and the library in build/release (the default)
	@$(MESON) compile -C build/release

build/portable/build.ninja: | setup
	$(call quiet,CC=gcc $(MESON) setup build/portable -Dbuildtype=release -Dportable=true -Dtests=false -Dbench=false -Dman=false)

portable: setup build/portable/build.ninja  ## the libraries loaded into other programs, for glibc 2.17 on, in build/portable
	@$(MESON) compile -C build/portable heddle-cuda:shared_module heddle-capture:shared_library
	@tests/capture/check_portable.py 2.17 build/portable/src/capture/cuda/libheddle-cuda.so build/portable/src/capture/libheddle-capture.so

STATIC := -Dbuildtype=release -Dportable=true -Dprefer_static=true -Dline_editing=disabled -Dmpi=disabled -Dpkgconfig.relocatable=true -Dtests=false -Dbench=false \
    -Dprefix=/ -Dlibdir=lib

static-libs:
	@tools/setup.sh dist
	@tools/static_libs.sh

build/static/build.ninja: | setup static-libs
	$(call quiet,CC=gcc PKG_CONFIG_PATH=$(abspath build/dist-libs/lib/pkgconfig) $(MESON) setup build/static $(STATIC))

dist: static-libs build/static/build.ninja  ## an archive in build/dist that runs on any Linux from glibc 2.34 on, with nothing installed
	@$(MESON) compile -C build/static
	@tools/dist.sh build/static build/dist

test-dist: dist       ## unpack that archive in an empty root, and use it there
	@tests/dist.py build/dist/heddle-*.tar.zst

wheel: static-libs    ## the Python package in build/wheel, with all inside: pip install build/wheel/heddle-*.whl
	@tools/wheel.sh build/wheel

test-wheel: wheel     ## install it in a fresh virtual environment of another folder, and use it there
	@tests/python/check_wheel.py build/wheel/heddle-*.whl

static-libs-aarch64:
	@tools/setup.sh dist-aarch64
	@tools/static_libs.sh aarch64

build/static-aarch64/build.ninja: | setup static-libs-aarch64
	$(call quiet,$(MESON) setup build/static-aarch64 --cross-file tools/aarch64-linux-gnu.ini \
	    --cross-file build/dist-libs-aarch64/cross.ini $(STATIC))

dist-aarch64: static-libs-aarch64 build/static-aarch64/build.ninja  ## the same for aarch64, compiled here
	@$(MESON) compile -C build/static-aarch64
	@tools/dist.sh build/static-aarch64 build/dist-aarch64 aarch64

test-dist-aarch64: dist-aarch64  ## the unit tests, and what is in that archive, under qemu-user
	@tests/dist_aarch64.sh build/static-aarch64 build/dist-aarch64

deb:                  ## Debian's packages, in build/deb
	@tools/setup.sh deb
	@tools/deb.sh build/deb

test-deb: deb         ## install, use and remove them in a small Debian (debootstrap, as root), and do what packaging/Containerfile says
	@tests/deb.py build/deb

demo: release         ## build, then repair a damaged trace before your eyes
	@tools/demo.sh build/release/src/cli/heddle

build/asan/build.ninja: | setup
	$(call quiet,CC=gcc $(MESON) setup build/asan $(LEAN) -Dwerror=true -Dc_args='-g1 -fsanitize-undefined-trap-on-error' $(SANITIZE))

build/clang/build.ninja: | setup
	$(call quiet,CC=clang $(MESON) setup build/clang -Doptimization=2 -Ddebug=false -Dwerror=true -Db_ndebug=false -Dpython=auto)

build/tsan/build.ninja: | setup
	$(call quiet,CC=gcc $(MESON) setup build/tsan $(LEAN) -Dc_args=-g1 -Db_sanitize=thread -Db_lundef=false)

# Of build/tsan only what the suite needs is built.
test: setup build/asan/build.ninja build/clang/build.ninja build/tsan/build.ninja  ## all tests: ASan and UBSan, clang, what has threads with TSan
	@tools/setup.sh test
	@rm -f build/asan/meson-logs/testlog.* build/clang/meson-logs/testlog.* build/tsan/meson-logs/testlog.*
	@$(MESON) compile -C build/asan
	@status=0; nice -n 19 $(MESON) compile -C build/clang >$(NEXT) 2>&1 & next=$$!; \
	 HEDDLE_TEST_ROUNDS=$${HEDDLE_TEST_ROUNDS:-0.35} \
	 $(MESON) test -C build/asan --no-rebuild --print-errorlogs --no-suite data || status=1; \
	 wait $$next || { cat $(NEXT); exit 1; }; \
	 $(MESON) test -C build/clang --no-rebuild --print-errorlogs $(PLAIN) || status=1; \
	 $(THREAD_TESTS) --suite threads || status=1; \
	 tools/test_summary.py build/asan build/clang build/tsan || status=1; \
	 exit $$status

test-gpu: release     ## the acceptance test on a GPU (ONLY=driver,torch for parts of it); without one it says what it would do
	@tests/gpu/run.py --heddle build/release/src/cli/heddle --out build/gpu-results $(if $(ONLY),--only $(ONLY))

test-threads: setup build/tsan/build.ninja  ## all unit tests under ThreadSanitizer
	@$(THREAD_TESTS) --no-suite slow --no-suite data --no-suite tree

bench:                ## the benchmarks, each beside its peer
	@tools/setup.sh bench
	@$(MAKE) --no-print-directory release
	@bench/run.sh build/release

build/fuzz/build.ninja: | setup
	$(call quiet,CC=clang $(MESON) setup build/fuzz -Dbuildtype=debugoptimized -Db_ndebug=false -Db_lundef=false \
	    -Dfuzz=true -Dtests=false -Dbench=false -Dman=false)

fuzz: setup build/fuzz/build.ninja  ## each fuzz target for FUZZ_SECONDS (60) seconds
	@$(MESON) compile -C build/fuzz
	@tools/fuzz.sh build/fuzz $(FUZZ_SECONDS)

install: release      ## install under PREFIX (/usr/local); DESTDIR is honoured
	@$(MESON) configure build/release -Dprefix=$(abspath $(PREFIX))
	@$(MESON) install -C build/release

format:               ## clang-format over the tree
	@tools/format.sh

check-format:         ## say what clang-format would change
	@tools/format.sh --check

clean:                ## remove build/
	rm -rf build
