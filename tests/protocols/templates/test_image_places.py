"""Images stand beside the lines of their items, whatever the data says."""

from __future__ import annotations

from recjudge_tui.domain.material import ImageView, ItemView, Material, SlateView, UserView
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.protocols.templates.rendering import messages
from tests.support.cases import shipped

ONE = ImageView(digest="a" * 64, width=10, height=10)
TWO = ImageView(digest="b" * 64, width=10, height=10)


def listed(*items: tuple[str, ImageView | None]) -> Material:
    views = tuple(
        ItemView(item_id=f"i{n}", title=title, image=image) for n, (title, image) in enumerate(items)
    )
    return Material(kind="list", user=UserView(user_id="u"), slates=(SlateView(items=views),))


def lines(prompt: Prompt, material: Material) -> list[tuple[str, str]]:
    """The end of the line that each image stands behind, and the image's digest."""
    message = messages(prompt, material)[1]
    return [
        (message.content[: placed.at].splitlines()[-1], placed.image.digest[0]) for placed in message.images
    ]


def test_an_item_without_an_image_takes_no_number() -> None:
    shown = lines(shipped("pointwise-media"), listed(("Heat", ONE), ("Alien", None), ("Brazil", TWO)))
    assert shown == [("1. Heat [image 1]", "a"), ("3. Brazil [image 2]", "b")]


def test_an_image_that_two_items_share_is_shown_with_each() -> None:
    shown = lines(shipped("pointwise-media"), listed(("Heat", ONE), ("Heat 2", ONE)))
    assert shown == [("1. Heat [image 1]", "a"), ("2. Heat 2 [image 2]", "a")]


def test_no_title_moves_an_image_or_brings_one() -> None:
    titles = (f"\x00{TWO.digest}\x00", "Heat [image 7]", f"x\x00{ONE.digest}\x00y")
    shown = lines(shipped("pointwise-media"), listed((titles[0], ONE), (titles[1], None), (titles[2], TWO)))
    assert [(text[-10:], digest) for text, digest in shown] == [(" [image 1]", "a"), (" [image 2]", "b")]
    assert shown[0][0].startswith("1. ")
    assert shown[1][0].startswith("3. ")


def test_a_prompt_that_writes_its_items_in_its_own_way_has_them_above() -> None:
    prompt = shipped("pointwise-media").model_copy(
        update={"user": "{% for i in slates[0].items %}{{ i.title }}, {% endfor %}"}
    )
    message = messages(prompt, listed(("Heat", ONE), ("Alien", None), ("Brazil", TWO)))[1]
    assert message.content == "Images of items:\n- Heat [image 1]\n- Brazil [image 2]\n\nHeat, Alien, Brazil,"
    assert [placed.image for placed in message.images] == [ONE, TWO]


def test_an_item_looks_to_a_template_as_it_did_without_images() -> None:
    prompt = shipped("pointwise-media").model_copy(update={"user": "{{ slates[0].items[0] }}"})
    assert "image" not in messages(prompt, listed(("Heat", None)))[1].content
