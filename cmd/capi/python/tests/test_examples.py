"""The examples run, reduced: their errors fall well below those of a model without training."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch")

python = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
data = os.path.join(python, "..", "..", "..", "testdata")


@pytest.mark.parametrize("name, folder, flags, most", [
    ("tagger", "ud-english-ewt-sample", "--limit 100 --epochs 15 --risk-epochs 1 --longest 12 --width 32", 75),
    ("g2p", "g2p", "--limit 200 --epochs 15 --risk-epochs 1 --longest 6 --width 32", 65),
])
def test_example(name, folder, flags, most):
    run = subprocess.run([sys.executable, os.path.join(python, "examples", name + ".py"), os.path.join(data, folder)] + flags.split(),
                         capture_output=True, text=True, timeout=300, env=dict(os.environ, PYTHONPATH=python))
    assert run.returncode == 0, run.stderr
    rates = [float(x) for x in re.findall(r"test (?:error|PER) ([0-9.]+) %", run.stdout)]
    assert len(rates) >= 2 and rates[-1] < most, run.stdout
