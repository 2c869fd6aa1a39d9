"""``python -m sfumato.client URL CAMPAIGN``: take part from a terminal, seeing the report before it is sent.

The place is read from standard input ("latitude longitude"), never from the command line, which other users of the
machine could read and the shell would remember.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from datetime import datetime

from sfumato.accountant.device import Device
from sfumato.base.errors import InputError, SfumatoError
from sfumato.collect.client.participant import Participant


def main(arguments: list[str] | None = None) -> int:
    """Run the conversation; 0 if the report is counted, waits for its turn, or was left unsent on purpose."""
    parser = argparse.ArgumentParser(prog="python -m sfumato.client", description=__doc__.splitlines()[0])
    parser.add_argument("url", help="address of the collector, for example https://collector.example")
    parser.add_argument("campaign", help="name of the campaign")
    parser.add_argument("--device", help="file that holds this device's budget [default: in your state folder]")
    parser.add_argument("--public-key", help="the server's key, from somewhere else than the server")
    parser.add_argument(
        "--longest-delay",
        type=float,
        metavar="SECONDS",
        help="between ticket and report [default: until a random moment of the round's second half where that can be, "
        "else 10]",
    )
    parser.add_argument("--yes", action="store_true", help="send without asking")
    parser.add_argument(
        "--now", action="store_true", help="do not wait: for this device's turn of an epoch, or its moment of the round"
    )
    parser.add_argument("--witness", help="another collector, or heads that somebody republishes (address or file)")
    parser.add_argument(
        "--join-again", action="store_true", help="agree to what the campaign has become since this device joined it"
    )
    chosen = parser.parse_args(arguments)
    try:
        return _take_part(chosen)
    except SfumatoError as error:
        sys.stderr.write(f"Error: {error.what}\n       {error.advice}\n")
        return 2


def _take_part(chosen: argparse.Namespace) -> int:
    device = Device(chosen.device)
    person = Participant(
        chosen.url,
        chosen.campaign,
        device=device,
        public_key=chosen.public_key,
        longest_delay_s=chosen.longest_delay,
        witness=chosen.witness,
    )
    if device.is_new:
        print(f"This is a new device: there is no memory at {device.path}, and nothing counts as spent.")
        print("If it has reported before, restore that file: what a lost one has spent is spent, and nobody counts it.")
    offer = person.join_again() if chosen.join_again else person.look()
    told = offer.reveals
    print(f"Cycle {offer.cycle} of '{offer.campaign}': signed, in the public log, within this device's limits.")
    print(f"One report reveals {'' if told.exact else 'at most '}{told.epsilon_per_km:.4g} per km.")
    print(
        f"Telling two cells up to {told.two_cell_within_m:.0f} m apart: right {100 * told.two_cell_success:.0f} times "
        "of 100 at most (50 is a coin)."
    )
    if offer.tickets is None:
        print("Tickets of this campaign are not blind: the operator can link each to its report.")
    else:
        print("Tickets are blind: the operator signs them without seeing them.")
    turn = person.turn(offer)
    if turn > offer.cycle and not chosen.now:
        print(
            f"One report serves an epoch of {offer.epoch_cycles} cycles; this device's turn is cycle {turn}, so that "
            "reports spread over the epoch.\nNothing is drawn yet: run this again then, or now with --now."
        )
        return 0
    lat, lon = _place()
    if offer.grid.locate([lat], [lon])[0] < 0:
        print("That place is outside the map: the nearest cell at its edge stands for it.")
    prepared = person.prepare(lat, lon, offer=offer, early=chosen.now)
    row, column = divmod(prepared.cell, offer.grid.columns)
    print(f"What will be sent: cell {prepared.cell} (row {row}, column {column}), version {prepared.version[:16]}...")
    if not prepared.drawn_now:
        period = {"once": "campaign", "every-cycle": "cycle"}.get(offer.reporting, "epoch")
        print(f"It was drawn before in this {period} and is not drawn again, wherever you are.")
    budget = device.budget()
    epochs = budget.by_epoch(person.url, person.campaign)
    if offer.epoch_cycles is not None:
        print(
            f"It asks once per epoch of {offer.epoch_cycles} cycles: {epochs.get(offer.epoch, 0.0):.4g} per km in this "
            f"epoch, {sum(epochs.values()):.4g} in all."
        )
    more = int(budget.left_per_km / told.epsilon_per_km + 1e-9) if told.epsilon_per_km else math.inf
    print(f"Budget: {budget.spent_per_km:.4g} of {budget.cap_per_km:g} per km spent.")
    if offer.reporting != "once":
        print(f"After {more} more such reports this device stops for good.")
    if not chosen.yes and not _agreed():
        print("Not sent. It is kept; run this again to send it.")
        return 0
    if prepared.send_at_s is not None and prepared.send_at_s > time.time():
        when = datetime.fromtimestamp(prepared.send_at_s).astimezone()
        print(f"It goes at {when:%Y-%m-%d %H:%M}, a moment drawn at random: leave this running, or run it again then.")
    print(f"Report {person.send(prepared.epoch)}.")
    return 0


def _agreed() -> bool:
    try:
        return input("Send it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:  # nobody is there to answer
        print()
        return False


def _place() -> tuple[float, float]:
    if sys.stdin.isatty():
        sys.stderr.write("Your latitude and longitude in degrees (they stay on this device): ")
        sys.stderr.flush()
    words = sys.stdin.readline().replace(",", " ").split()
    try:
        lat, lon = (float(word) for word in words)
    except ValueError:
        raise InputError("That is not a place.", "Give two numbers: latitude and longitude in degrees.") from None
    return lat, lon


if __name__ == "__main__":
    sys.exit(main())
