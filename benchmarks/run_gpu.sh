#!/usr/bin/env bash
# On a machine with a CUDA device: the tests marked `gpu`, equality with the CPU at size, and the propagation benchmark.
#
#     benchmarks/run_gpu.sh [FOLDER]      results as JSON; FOLDER is $OUT, or outputs/gpu, by default
#
# Uses the Python given by $PYTHON, else .venv, else python3, with what is installed there; needs no network. Takes under five
# minutes. Without a CUDA device it says so and ends with status 0; it ends with status 1 where a check fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
folder=${1:-${OUT:-outputs/gpu}}
python=${PYTHON:-}
[ -n "$python" ] || { [ -x .venv/bin/python ] && python=.venv/bin/python || python=python3; }
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1

if ! "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    echo "no CUDA device for $python: nothing is checked"
    exit 0
fi
mkdir -p "$folder"
status=0

# pytest ends with 5 where nothing is selected, which would mean that nothing was checked.
timeout 100 "$python" -m pytest -m gpu -p no:cacheprovider --junitxml="$folder/gpu_tests.xml" tests || status=1
"$python" - "$folder" <<'PYTHON' || status=1
import json, pathlib, sys
from xml.etree import ElementTree

folder = pathlib.Path(sys.argv[1])
suite = ElementTree.parse(folder / "gpu_tests.xml").getroot().find("testsuite")
counts = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
failed = [f"{case.get('classname')}::{case.get('name')}" for case in suite if case.find("failure") is not None or case.find("error") is not None]
(folder / "gpu_tests.json").write_text(json.dumps(counts | {"failed": failed}, indent=1) + "\n", encoding="utf-8")
PYTHON
# Also compares the layer on the GPU with the layer on the CPU, and fails where they accept different claims.
timeout 180 "$python" -m benchmarks.propagation --devices '[cuda]' --json "$folder/gpu_propagation.json" || status=1
exit $status
