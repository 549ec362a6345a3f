#!/usr/bin/env bash
# Tests looseleaf inside verl, in an environment of its own: verl wants an older transformers than TRL.
#
#   scripts/test_verl.sh [FOLDER of the environment, default build/verl-env] [further arguments of pytest]
#
# The environment is made once (a few minutes; torch for processors is enough, and is taken where it is installed
# already) and needs no GPU. The tests take about five minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=${1:-build/verl-env}
shift || true

if [ ! -x "$environment/bin/python" ]; then
    python3 -m venv "$environment"
fi
if ! "$environment/bin/python" -c 'import verl, transfer_queue, looseleaf, pytest' 2>/dev/null; then
    "$environment/bin/python" -m pip install --quiet uv
    "$environment/bin/python" -c 'import torch' 2>/dev/null || "$environment/bin/python" -m pip install --quiet 'torch>=2.6'
    # Behind the extra: what verl imports on this path and asks for only in its GPU extras. uv, since pip takes
    # very long to find versions that go together.
    "$environment/bin/python" -m uv pip install --quiet --python "$environment/bin/python" \
        --editable '.[verl]' cachetools fastapi pyzmq TransferQueue uvicorn pytest reportlab
fi
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1
exec "$environment/bin/python" -m pytest -m slow tests/test_verl.py tests/test_verl_v1.py "$@"
