"""Writer numbers in both ledgers."""


async def test_writer_numbers_are_never_used_again(place):
    numbers = []
    for _ in range(4):
        ledger = place()
        numbers.append(await ledger.open(0))
        await ledger.close()
    assert numbers == sorted(set(numbers))
    assert numbers[0] > 0


async def test_a_process_may_have_several_writer_numbers(ledger):
    assert len({await ledger.writers.enlist(0) for _ in range(5)}) == 5


async def test_a_number_is_larger_than_those_that_somebody_remembers(ledger):
    own = await ledger.writers.enlist(0)
    assert await ledger.writers.enlist(0, own + 100) == own + 101
    assert await ledger.writers.enlist(0) == own + 102


async def test_numbers_that_were_given_are_known(ledger):
    numbers = [await ledger.writers.enlist(0) for _ in range(3)]
    assert await ledger.writers.knows(numbers)
    assert await ledger.writers.knows([])
    assert not await ledger.writers.knows([*numbers, max(numbers) + 1])
