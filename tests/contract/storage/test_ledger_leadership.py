"""Who leads, in both ledgers."""


async def test_a_process_that_has_the_ledger_for_itself_leads(ledger):
    assert [await ledger.leadership.lead() for _ in range(2)] == [True, True]


async def test_one_of_several_leads_until_it_is_gone(place):
    first, second = place(shared=True), place(shared=True)
    await first.open(0)
    await second.open(0)
    try:
        assert [await one.leadership.lead() for one in (first, second, first)] == [True, False, True]
        await first.close()
        assert await second.leadership.lead()
    finally:
        await second.close()
