"""What four attacks reach, with and without the design that meets them: the numbers of docs/evidence/attacks.md.

    python benchmarks/evidence_attacks.py [--quick]

Everything is simulated with fixed seeds; no data is needed. Exits non-zero when a design fails to do what its page
says.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np

NOISE_M = 150.0


def multiscale(prior_class: str = "day", **shares: float):
    from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
    from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
    from sfumato.tracks.priors.classes import PRIOR_CLASSES

    return MultiscaleNoise(shipped_ladder(prior_class, **shares), NOISE_M, PRIOR_CLASSES[prior_class])


def smoothing() -> bool:
    from sfumato.tracks.adversary.posterior import remaining_sd_m
    from sfumato.tracks.priors.kernels import Matern32, White, kernel_from_dict

    prior = Matern32(300, 1000) + White(1)
    law = kernel_from_dict(multiscale().law())
    print("Smoothing: the error left after the best smoother, one hour, Matérn-3/2 of 300 s and 1 km, 150 m of noise")
    print(f"  {'every':>8}{'independent':>14}{'multiscale':>14}")
    rows = []
    for every in (60.0, 10.0, 2.0, 0.5):
        times = np.arange(0, 3600, every)
        middle = len(times) // 2
        pair = [float(remaining_sd_m(times, prior=prior, noise=noise)[middle]) for noise in (White(NOISE_M), law)]
        rows.append(pair)
        print(f"  {every:>7g}s{pair[0]:>12.1f} m{pair[1]:>12.1f} m")
    bound = multiscale().bound().worst_loss
    print(f"  multiscale noise can never fall below {NOISE_M / math.sqrt(bound):.1f} m for a wide prior of the class")
    return rows[-1][0] < 0.5 * rows[0][0] and all(row[1] >= NOISE_M / math.sqrt(bound) * 0.999 for row in rows)


def averaging(repeats: int) -> bool:
    from sfumato.tracks.adversary.repetition import average_of, rms_m

    times = np.arange(0, 3600, 60.0)
    fresh, same = multiscale(), multiscale().with_key(bytes(range(32)))
    print("\nAveraging: the error of the mean of k releases of the same hour")
    print(f"  {'k':>4}{'drawn anew':>14}{'continuing':>14}")
    ok = True
    for count in (1, 4, 25):
        errors = [rms_m(average_of([fresh.draw(times, 1000 * r + k) for k in range(count)])) for r in range(repeats)]
        kept = rms_m(average_of([same.draw(times) for _ in range(count)]))
        redrawn = rms_m(errors)
        print(f"  {count:>4}{redrawn:>12.1f} m{kept:>12.1f} m")
        ok &= abs(redrawn * math.sqrt(count) / NOISE_M - 1) < 0.25 and abs(kept - rms_m(same.draw(times))) < 1e-6
    print("  (a continuing path is one draw of a process of 150 m: whatever its error is, it is the same for every k)")
    return ok


def nights() -> bool:
    from sfumato.tracks.adversary.repetition import stay_attack, stay_times
    from sfumato.tracks.priors.kernels import kernel_from_dict

    print("\nNights at one place, 8 h each, a report every 10 min: loss over the floor 1/o, and the error left")
    designs = {
        "no constant share": multiscale(constant_share=0.0),
        "day": multiscale(),
        "week": multiscale("week"),
        "year": multiscale("year"),
    }
    print(f"  {'nights':>7}" + "".join(f"{name:>24}" for name in designs))
    last: dict[str, float] = {}
    for count in (1, 7, 30, 365):
        cells = []
        for name, design in designs.items():
            stay = stay_attack(stay_times(duration_s=28800, every_s=600, nights=count), kernel_from_dict(design.law()))
            last[name] = stay.loss_over_floor
            cells.append(f"{stay.loss_over_floor:>12.2f}, {stay.error_m:>6.1f} m")
        print(f"  {count:>7}" + "".join(f"{cell:>24}" for cell in cells))
    return last["no constant share"] > 100 and all(
        last[name] <= 1 / design.ladder.constant_share for name, design in list(designs.items())[1:]
    )


def zones(repeats: int) -> bool:
    from sfumato.tracks.adversary.places.cuts import circle_through

    print("\nZone inversion: distance from the fitted centre to the hidden home (median), 400 m zone")
    print(f"  {'tracks':>7}{'cut out':>12}{'cut out, 5 m GPS':>19}{'multiscale':>13}")
    ok = True
    for count in (3, 10, 50):
        exact, gps, noisy = [], [], []
        for r in range(repeats):
            rng = np.random.default_rng(r)
            angle = rng.uniform(0, 2 * np.pi, count)
            border = 400 * np.column_stack([np.cos(angle), np.sin(angle)])
            exact.append(np.linalg.norm(circle_through(border).centre_m))
            gps.append(np.linalg.norm(circle_through(border + rng.normal(0, 5, border.shape)).centre_m))
            moments = np.sort(rng.uniform(0, 86400 * count, count))
            noisy.append(np.linalg.norm(circle_through(border + multiscale().draw(moments, rng)).centre_m))
        row = [float(np.median(values)) for values in (exact, gps, noisy)]
        print(f"  {count:>7}{row[0]:>10.2f} m{row[1]:>17.1f} m{row[2]:>11.1f} m")
        ok &= row[0] < 1 and row[2] > 5 * row[1]
    return ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    options = parser.parse_args()
    repeats = 10 if options.quick else 60
    results = [smoothing(), averaging(repeats), nights(), zones(repeats)]
    print("\nok" if all(results) else f"\nFAILED: {results}")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
