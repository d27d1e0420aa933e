"""What was wrong, where, and an example that is right: for typing errors and for refusals."""

from __future__ import annotations

from collections.abc import Callable

from bot.asks import SHORTEST_LEASE
from bot.chat.grammar import Expected, GrammarError, Mistake, spell, spell_lease
from bot.chat.markup import Markup, escape, escape_line, join, say
from bot.chat.words.english.outside import Outside
from bot.chat.words.english.turned_down import TurnedDown
from bot.chat.words.english.unplaced import Unplaced
from bot.chat.words.figures import Figures
from bot.views import RefusalCode, Refused
from scheduler.model import LimitKind
from storage.states import RequestState

CARET_WIDTH = 120
"""Longer lines are cut around the token, so that a caret line does not wrap."""

_MISTAKES: dict[Mistake, str] = {
    Mistake.UNKNOWN_VERB: "I do not know `{token}`.",
    Mistake.UNKNOWN_WORD: "I do not understand `{token}` here.",
    Mistake.MISSING: "Something is missing at the end.",
    Mistake.ZERO: "`{token}` is zero.",
    Mistake.NEGATIVE: "`{token}` is negative.",
    Mistake.NOT_WHOLE: "`{token}` is not a whole number.",
    Mistake.TOO_BIG: "`{token}` is far beyond anything here.",
    Mistake.TOO_SHORT: "`{token}` is less than a minute.",
    Mistake.TOO_LONG: "That is longer than I read.",
    Mistake.NAME_TOO_LONG: "That is too long for a name.",
    Mistake.TWO_SIZES: "`{token}` is a second size; you already said `{first}`.",
    Mistake.TWICE: "`{token}` repeats or contradicts `{first}`.",
    Mistake.NO_UNIT: "`{token}` has no unit.",
    Mistake.NOT_A_REQUEST: "`{token}` is not the id of a request.",
    Mistake.AMBIGUOUS: "`{token}` could mean two things.",
    Mistake.LEFT_OVER: "`{token}` is more than I expected.",
    Mistake.UNCLOSED: "A quote is opened here and not closed.",
    Mistake.OTHER_UNIT: "`{token}` is counted otherwise than the size.",
    Mistake.PAST_SIZE: "`{token}` is more than the size itself.",
}

_EXPECTED: dict[Expected, str] = {
    Expected.VERB: "Say what you want first: a size, or one of the commands in `help`.",
    Expected.SIZE: "How many GPUs? For example `16`, `4x8` or `2 nodes`.",
    Expected.DURATION: "How long? For example `8h`, `90m` or `2d`; a minute to a year.",
    Expected.OPTION: (
        "I read a size, a GPU model, a time, `preemptible`, `priority …`, `spend …`, `team …`, "
        "`same rack`, `prefer rack`, `spread`, `at least …`, `spot`, `flex` and `name …`."
    ),
    Expected.PRIORITY: "A priority is `low`, `medium`, `high` or `critical`.",
    Expected.SPEND: "Spend is `low` or `high`.",
    Expected.TEAM: "A team's name comes here.",
    Expected.NAME: "A name of up to 60 characters comes here.",
    Expected.LEVEL: "A level of the cluster comes here, such as `rack` or `block`.",
    Expected.GROUPING: "A map is coloured by `pool` or by `team`.",
    Expected.REQUEST_ID: "A request's id comes here, such as `R-1042`.",
    Expected.MINIMUM: "The smallest size that would do comes here, counted as the size is.",
    Expected.IMAGE: "The image to run comes here, such as `nvcr.io/nvidia/pytorch:25.01-py3`.",
    Expected.POD: "A pod comes here by namespace and name, such as `nlp/notebook-0`.",
    Expected.TERMS: "After the pod you can say for how long (`8h`), `team …` and `preemptible`.",
    Expected.CHANGE: "Say what shall be different, in the words of a request.",
    Expected.PERSON: "A colleague comes here: `@` and their name.",
    Expected.PERIOD: "A report is about a `week` or a `month`.",
    Expected.PREFERENCE: (
        "You can set `language`, `quiet`, `zone`, `notices`, `where` and `digest`, or say `mute` "
        "or `unmute`."
    ),
    Expected.LANGUAGE: "A language is `en`, `zh` or `auto`, which is that of your Slack.",
    Expected.QUIET: "Quiet hours are two times such as `22:00-07:00`, or `off`.",
    Expected.NOTICES: "Notices are `all`, `important` or `none`.",
    Expected.DIGEST: "A digest comes `daily`, `weekly` or is `off`.",
    Expected.WHERE: "Notices for you alone go to `dm` or `thread`.",
    Expected.ZONE: (
        "A time zone comes here, such as `Europe/Paris` or `UTC`, or `auto` for that of your Slack."
    ),
    Expected.PLACE: "A queue, pool or team comes here.",
    Expected.NODE: "A node's name comes here.",
    Expected.GPUS: "A number of GPUs comes here.",
    Expected.END: "An end is `for 2h`, `until 18:00` or `until 2026-12-05`.",
    Expected.REASON: "Say why: `reason` and a few words, for all to read.",
    Expected.PAGE: "A page number comes here, from 1 on.",
    Expected.TOPIC: "A request, a person, a team, a pool or a GPU model comes here.",
    Expected.NOTHING: "Leave it out, or say it once.",
    Expected.SHORTER: "A request fits in one short line.",
    Expected.QUOTE: "Close it with the same kind of quote.",
}


class Mistakes(Outside, Unplaced, TurnedDown):
    """Answers to what cannot be done; each says that nothing was done."""

    def mistake(self, wrong: GrammarError) -> Markup:
        """The error of a line in one or two sentences."""
        token = wrong.token if len(wrong.token) <= 40 else wrong.token[:39] + "…"
        what = say(_MISTAKES[wrong.mistake], token=token, first=wrong.first)
        return join(" ", [what, say(_EXPECTED[wrong.expected])])

    def caret(self, wrong: GrammarError) -> Markup:
        """The line with carets under the token, as a code block."""
        start, end = wrong.start, max(wrong.end, wrong.start + 1)
        line = wrong.text
        if len(line) > CARET_WIDTH:
            left = max(0, start - CARET_WIDTH // 3)
            line = line[left : left + CARET_WIDTH]
            start, end = start - left, min(end - left, CARET_WIDTH)
        under = " " * start + "^" * max(1, end - start)
        return Markup(f"```{escape_line(line) or ' '}\n{under}```")

    def did_you_mean(self, wrong: GrammarError, command: str) -> Markup:
        """The nearest words, if any, and a line that works."""
        near = Markup()
        if wrong.near:
            near = say("Did you mean {near}? ", near=self.or_list(wrong.near))
        example = escape(wrong.example, 240)
        return say("{near}Try: `{command}{example}`", near=near, command=command, example=example)

    def nothing_done(self) -> Markup:
        """Closes every refusal."""
        return say("Nothing was changed.")

    def refused(self, refused: Refused) -> Markup:
        """Why the desk did not do it, with the numbers and what would do."""
        sentences: dict[RefusalCode, Callable[[Refused, Figures], Markup]] = {
            RefusalCode.NO_SUCH_PERSON: self._no_such_person,
            RefusalCode.NO_TEAM: self._no_team,
            RefusalCode.UNKNOWN_TEAM: self._unknown_team,
            RefusalCode.NOT_YOUR_TEAM: self._not_your_team,
            RefusalCode.UNKNOWN_MODEL: self._unknown_model,
            RefusalCode.UNKNOWN_LEVEL: self._unknown_level,
            RefusalCode.NOT_A_SIZE: self._not_a_size,
            RefusalCode.NOT_DIVISIBLE: self._not_divisible,
            RefusalCode.NEVER_FITS: self._never_fits,
            RefusalCode.LEASE_TOO_LONG: self._lease_too_long,
            RefusalCode.LEASE_TOO_SHORT: self._lease_too_short,
            RefusalCode.PRIORITY_NOT_ALLOWED: self._priority,
            RefusalCode.NO_SUCH_REQUEST: self._no_such_request,
            RefusalCode.NOT_YOURS: self._not_yours,
            RefusalCode.ALREADY_ENDED: self._already_ended,
            RefusalCode.NOT_RUNNING: self._not_running,
            RefusalCode.NOT_WAITING: self._not_waiting,
            RefusalCode.UNKNOWN_TARGET: self._unknown_target,
            RefusalCode.NAME_TOO_LONG: self._name_too_long,
            RefusalCode.TOO_MANY_WAITING: self._too_many,
            **self.turned_down(),
            **self.not_adopted(),
            **self.not_placed(),
            RefusalCode.NOT_AN_IMAGE: self._not_an_image,
            RefusalCode.COMMAND_TOO_LONG: self._command_too_long,
            RefusalCode.UNKNOWN_PREFERENCE: self._unknown_preference,
            RefusalCode.NOT_A_PREFERENCE: self._not_a_preference,
            RefusalCode.NOT_ON_CALL: self._not_on_call,
        }
        why = sentences[refused.code](refused, Figures(refused.args))
        if refused.instead is None:
            return why
        line = refused.line or spell(refused.instead)
        return say("{why} Try: `/gpu {line}`", why=why, line=line)

    def unexpected(self, error_id: str) -> Markup:
        """Something broke on our side."""
        return say(
            "Sorry, that failed on my side. It is noted as `{error_id}`; give that id to the "
            "people who run me. Look at `/gpu mine` before you try again.",
            error_id=error_id,
        )

    def not_ready(self) -> Markup:
        """The engine is still being built."""
        return say("I have only just started and am still counting nodes. Ask again in a minute.")

    def old_button(self) -> Markup:
        """A button whose value is not, or no longer, understood."""
        return say(
            "That button is from an older message and does not work any more. Nothing was "
            "changed. `/gpu mine` shows your requests as they are now."
        )

    def _nearest(self, refused: Refused) -> Markup:
        if not refused.near:
            return Markup()
        return say(" Did you mean {near}?", near=self.or_list(refused.near[:5]))

    def _no_such_person(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        who = figures.text("person", "what")
        named = say(" {who}", who=who) if who else Markup()
        return say(
            "I do not know that person{named}. Mention them, for example `/gpu give R-1042 @ben`.",
            named=named,
        )

    def _not_an_image(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say(
            "`{image}` is not the name of an image. Try: "
            "`/gpu run registry.example/train:1 8 h100 2h -- python train.py`",
            image=figures.text("image") or " ",
        )

    def _command_too_long(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        length, most = figures.number("length"), figures.number("most")
        sizes = Markup()
        if length is not None and most is not None:
            sizes = say(": {length:,} characters, and {most:,} fit", length=length, most=most)
        return say(
            "That command is too long{sizes}. Put it into a script of the image: "
            "`/gpu run registry.example/train:1 8 h100 2h -- bash train.sh`",
            sizes=sizes,
        )

    def _no_team(self, refused: Refused, figures: Figures) -> Markup:
        del refused, figures
        return self.no_team()

    def _unknown_team(self, refused: Refused, figures: Figures) -> Markup:
        team = figures.text("team", "what") or say("that name")
        near = self._nearest(refused) or say(" `/gpu fair` lists them.")
        return say("There is no team {team}.{near}", team=team, near=near)

    def _not_your_team(self, refused: Refused, figures: Figures) -> Markup:
        team = figures.text("team") or say("that team")
        yours = self.no_team()
        if refused.near:
            yours = say("You can for {near}.", near=self.or_list(refused.near))
        text = "You are not in team {team}, so you cannot ask in its name. {yours}"
        return say(text, team=team, yours=yours)

    def _unknown_model(self, refused: Refused, figures: Figures) -> Markup:
        model = figures.text("model", "what") or say("of that kind")
        near = self._nearest(refused) or say(" The form lists them: type `/gpu` alone.")
        return say("There is no GPU model {model} here.{near}", model=model, near=near)

    def _unknown_level(self, refused: Refused, figures: Figures) -> Markup:
        level, pool = figures.text("level", "what") or "of that kind", figures.text("pool")
        levels = say(" There is {near}.", near=self.or_list(refused.near)) if refused.near else ""
        return say(
            "The nodes{where} have no level {level}.{levels}",
            where=say(" of pool {pool}", pool=pool) if pool else "",
            level=level,
            levels=levels,
        )

    def _not_a_size(self, refused: Refused, figures: Figures) -> Markup:
        asked = figures.text("asked", "gpus") or say("That")
        return say(
            "{asked} is not a size I can give.{near} For example `16 h100 8h` or "
            "`2 nodes h100 8h`.",
            asked=asked,
            near=self._nearest(refused),
        )

    def _not_divisible(self, refused: Refused, figures: Figures) -> Markup:
        asked, node = figures.number("asked", "gpus"), figures.number("node", "node_gpus")
        sizes = self.or_list(refused.near)
        return say(
            "{what} do not fill whole nodes{of}, and work on several nodes gets whole ones.{ask}",
            what=self.gpus(asked) if asked is not None else "These GPUs",
            of=say(" of {node:,}", node=int(node)) if node else "",
            ask=say(" Ask for {sizes}.", sizes=sizes) if sizes else "",
        )

    def _never_fits(self, refused: Refused, figures: Figures) -> Markup:
        asked, most = figures.number("asked", "gpus"), figures.number("most", "limit", "max")
        where = figures.text("where", "queue") or say("this cluster")
        what = self.gpus(asked) if asked is not None else say("That")
        template = _LIMITS.get(refused.limit or LimitKind.CLUSTER, _LIMITS[LimitKind.CLUSTER])
        if most is None:
            template = "{what} can never start: no queue of {where} takes it.{near}"
        return say(
            template,
            what=what,
            where=where,
            most=int(most or 0),
            near=self._nearest(refused),
        )

    def _lease_too_long(self, refused: Refused, figures: Figures) -> Markup:
        asked, most = figures.number("asked", "lease"), figures.number("most", "max", "limit")
        pool = figures.text("pool", "where")
        what = self.span(asked) if asked is not None else say("That")
        where = say(" in pool {pool}", pool=pool) if pool else Markup()
        if most is None:
            return say("{what} is longer than a lease may be{where}.", what=what, where=where)
        example = say(" Say `{line}`.", line=spell_lease(most))
        return say(
            "{what} is too long: a lease may be at most {most}{where}.{example}",
            example=example if refused.instead is None else "",
            what=what,
            most=self.span(most),
            where=where,
        )

    def _lease_too_short(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        least = self.span(figures.number("least") or SHORTEST_LEASE)
        return say("A lease has at least {least}. For example `8h` or `90m`.", least=least)

    def _priority(self, refused: Refused, figures: Figures) -> Markup:
        asked = figures.text("priority", "asked") or "of that kind"
        return say(
            "Priority {asked} is not open to you{open_}. Your lead or an admin can ask for it.",
            asked=asked,
            open_=say(", but {near} is", near=self.or_list(refused.near)) if refused.near else "",
        )

    def _no_such_request(self, refused: Refused, figures: Figures) -> Markup:
        request = figures.text("request", "what") or say("with that id")
        return say(
            "There is no request {request}.{near} `/gpu mine` lists yours.",
            request=request,
            near=self._nearest(refused),
        )

    def _not_yours(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or say("That request")
        team = figures.text("team")
        of = say(" of team {team}", team=team) if team else Markup()
        return say(
            "{request} belongs to somebody else. Its owner, the lead{of} or an admin can do that.",
            request=request,
            of=of,
        )

    def _already_ended(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or say("That request")
        state = str(figures.text("state") or "")
        return say(_ENDED.get(state, "{request} has already ended."), request=request)

    def _not_running(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or say("That request")
        return say(
            "{request} holds no GPUs that could be released. `/gpu cancel {request}` ends it.",
            request=request,
        )

    def _not_waiting(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        request = figures.text("request") or say("That request")
        return say("{request} is not waiting.", request=request)

    def _unknown_target(self, refused: Refused, figures: Figures) -> Markup:
        what = figures.text("what", "target", "asked") or say("that")
        return say(
            "I know no request, person, team, pool, queue or GPU model called {what}.{near}",
            what=what,
            near=self._nearest(refused) or say(" For example `/gpu queue h100`."),
        )

    def _name_too_long(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        most = figures.number("most", "max", "limit") or 60
        text = "A name has at most {most:,} characters: for example `name llama-sft`."
        return say(text, most=int(most))

    def _too_many(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        most = figures.number("most", "max", "limit")
        most_said = say(" (at most {most:,})", most=int(most)) if most else Markup()
        return say(
            "You have too many requests waiting{most}. Cancel one, or wait for one to start.",
            most=most_said,
        )

    def _unknown_preference(self, refused: Refused, figures: Figures) -> Markup:
        return say(
            "There is no preference {field}.{near} There are: {fields}. For example "
            "`/gpu prefs quiet 22:00-07:00`.",
            field=figures.text("field") or say("of that name"),
            fields=figures.text("fields") or Markup(),
            near=self._nearest(refused),
        )

    def _not_on_call(self, refused: Refused, figures: Figures) -> Markup:
        del refused, figures
        return say(
            "Only on-call, a lead or an admin can acknowledge that. If you have seen to it, tell "
            "them in its thread."
        )

    def _not_a_preference(self, refused: Refused, figures: Figures) -> Markup:
        field = figures.text("field") or say("quiet")
        return say(
            "{value} does not fit {field}. It can be {near}: for example "
            "`/gpu prefs {field} {example}`.",
            field=field,
            value=figures.text("value") or say("Nothing"),
            near=self.or_list(refused.near),
            example=refused.near[0] if refused.near else "off",
        )


_ENDED: dict[str, str] = {
    RequestState.STOPPING: "{request} is already being stopped: its GPUs come free in a moment.",
    RequestState.FINISHED: "{request} has already finished.",
    RequestState.FAILED: "{request} has already ended: its pods failed.",
    RequestState.CANCELLED: "{request} was cancelled already.",
    RequestState.RELEASED: "{request} was released already.",
    RequestState.EXPIRED: "{request} has already ended: its lease was over.",
}

_LIMITS: dict[LimitKind, str] = {
    LimitKind.QUEUE: "{what} can never start: queue {where} gives at most {most:,}.{near}",
    LimitKind.COHORT: (
        "{what} can never start: all of {where} together gives at most {most:,}.{near}"
    ),
    LimitKind.NODE: (
        "{what} in one pod can never start: the biggest node of {where} has {most:,}.{near}"
    ),
    LimitKind.SLICES: (
        "{what} can never start: slices of {most:,} pods in one {where} do not divide it.{near}"
    ),
    LimitKind.DOMAIN: "{what} can never start: one {where} holds at most {most:,} of them.{near}",
    LimitKind.CLUSTER: "{what} can never start: {where} has {most:,} in all.{near}",
    LimitKind.NO_FLAVOR: "{what} can never start: {where} has no such capacity.{near}",
    LimitKind.NO_QUEUE: "{what} can never start: no queue is open to it in {where}.{near}",
    LimitKind.BUDGET: (
        "{what} is more than the priority budgets of {where} leave: {most:,} now. Ask for fewer, or"
        " when something of that team has ended."
    ),
    LimitKind.LEASE: "{what} can never start: its lease is longer than {where} allows.{near}",
}
