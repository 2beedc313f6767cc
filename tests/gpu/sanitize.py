"""Every kernel of the corpus under NVIDIA's compute-sanitizer, once each, in process.

    python3 tests/gpu/sanitize.py memcheck --program build/gpu-host/bin/nautilusc [--plans 200] [KERNEL...]

The tool is memcheck, synccheck, racecheck or initcheck. Typical sizes; attention with 192 queries and keys, which take warpgroup
products, and two heads. Exit status 1 if a run reports an error or does not end in order.
"""
import argparse
import concurrent.futures
import subprocess
import sys

from cases import PROGRAM, programs, text, typical


def main():
    a = argparse.ArgumentParser()
    a.add_argument("tool", choices=["memcheck", "synccheck", "racecheck", "initcheck"])
    a.add_argument("--program", default=PROGRAM)
    a.add_argument("--plans", type=int, default=200)
    a.add_argument("--jobs", type=int, default=7)
    a.add_argument("kernels", nargs="*")
    o = a.parse_args()

    def run(file):
        sizes = typical(o.program, file)
        if file.stem.startswith("attention_"):
            sizes.update({s: n for s, n in {"N": 192, "M": 192, "H": 2}.items() if s in sizes})
        args = ["compute-sanitizer", "--tool", o.tool, o.program, "run", str(file), "--in-process", "--on", "gpu", "--no-check",
                "--max-plans", str(o.plans), "--size"]
        try:
            p = subprocess.run(args + text(sizes).split(), capture_output=True, text=True, timeout=200)
        except subprocess.TimeoutExpired:
            return file.stem, "more than 200 s"
        told = [line for line in (p.stdout + p.stderr).splitlines() if "ERROR SUMMARY" in line]
        if p.returncode or not told:
            return file.stem, "status %d: %s" % (p.returncode, (p.stdout + p.stderr)[-300:])
        return file.stem, told[-1].split("SUMMARY:")[1].strip()

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for name, told in pool.map(run, programs(o.kernels)):
            bad += told != "0 errors"
            print("%-24s %s" % (name, told), flush=True)
    print("%s: %d kernels with errors" % (o.tool, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
