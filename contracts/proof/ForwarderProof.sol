// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Forwarder} from "../Forwarder.sol";
import {HostileToken, IProver, RecipientModel, TokenModel} from "./Models.sol";

/// @title Properties of the forwarder's compiled code that hold for any balances, callers, calls and values.
/// @dev A forwarder has no storage, so each of its calls behaves like the first. A property that holds for one call
/// with any balances holds for any number of calls. The recipient may reject native coin. The recipient and a hostile
/// token may each call back once.
contract ForwarderProof {
    IProver private constant VM = IProver(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
    IProver private constant SYMBOLIC = IProver(0xF3993A62377BCd56AE39D773740A5390411E8BC9);

    RecipientModel private recipient;
    TokenModel private token;
    HostileToken private hostile;
    Forwarder private forwarder;

    struct Balances {
        uint256 coins;
        uint256 tokens;
        uint256 recipientCoins;
        uint256 recipientTokens;
    }

    /// This contract is also a caller, and accepts native coin. If a forwarder sent coin to its caller, the proof would
    /// find it.
    receive() external payable {}

    function setUp() public {
        recipient = new RecipientModel(SYMBOLIC.createBool("accepts"));
        token = new TokenModel();
        hostile = new HostileToken(SYMBOLIC.createUint256("hostileBalance"), SYMBOLIC.createUint256("hostileResult"));
        forwarder = new Forwarder(address(recipient));
    }

    /// All money that leaves a forwarder goes to its recipient.
    function check_whatLeavesGoesToTheRecipient() public {
        letCallBack();
        Balances memory start = anyBalances();
        uint256 received = anyCall();
        assert(
            address(forwarder).balance + address(recipient).balance
                == start.coins + start.recipientCoins + received
        );
        assert(
            token.balanceOf(address(forwarder)) + token.balanceOf(address(recipient))
                == start.tokens + start.recipientTokens
        );
    }

    /// The swept amount is at most the received amount. No money comes from another account, even with its approval.
    function check_sweptIsAtMostReceived() public {
        Balances memory start = anyBalances();
        uint256 received = start.coins + anyCall();
        assert(address(recipient).balance - start.recipientCoins <= received);
        assert(token.balanceOf(address(recipient)) - start.recipientTokens <= start.tokens);
    }

    /// A sweep by any caller sends the whole balance to the recipient, unless the recipient rejects it.
    function check_sweepBringsEverything() public {
        Balances memory start = anyBalances();
        VM.prank(SYMBOLIC.createAddress("caller"));
        forwarder.sweep(address(token));
        assert(token.balanceOf(address(forwarder)) == 0);
        assert(token.balanceOf(address(recipient)) == start.tokens + start.recipientTokens);
        VM.prank(SYMBOLIC.createAddress("otherCaller"));
        (bool done, ) = address(forwarder).call(abi.encodeCall(Forwarder.sweep, (address(0))));
        assert(address(forwarder).balance == (done ? 0 : start.coins));
        assert(address(recipient).balance == (done ? start.coins : 0) + start.recipientCoins);
    }

    /// Have the recipient and the hostile token call `sweep` for any asset during a sweep.
    function letCallBack() private {
        recipient.reenter(address(forwarder), SYMBOLIC.createAddress("assetOfRecipient"));
        hostile.reenter(address(forwarder), SYMBOLIC.createAddress("assetOfHostile"));
    }

    function anyBalances() private returns (Balances memory start) {
        start = Balances(anyAmount("coins"), anyAmount("tokens"), anyAmount("recipientCoins"), anyAmount("recipientTokens"));
        VM.deal(address(forwarder), start.coins);
        VM.deal(address(recipient), start.recipientCoins);
        token.setBalance(address(forwarder), start.tokens);
        token.setBalance(address(recipient), start.recipientTokens);
        token.setBalance(address(this), anyAmount("strangersTokens"));
    }

    /// Make any call from any other account with any value; return the value that the forwarder accepted.
    function anyCall() private returns (uint256) {
        address caller = SYMBOLIC.createBool("isContract") ? address(this) : SYMBOLIC.createAddress("caller");
        VM.assume(caller != address(forwarder) && caller != address(recipient)); // their balances are compared
        bytes memory input = anyInput();
        uint256 value = anyAmount("value");
        VM.deal(caller, value);
        VM.prank(caller);
        (bool done, ) = address(forwarder).call{value: value}(input);
        return done ? value : 0;
    }

    function anyInput() private returns (bytes memory) {
        uint256 size = SYMBOLIC.createUint256("size");
        if (size == 0) return "";
        if (size == 1) return SYMBOLIC.createBytes(3, "input");
        if (size == 2) return SYMBOLIC.createBytes(36, "input");
        return SYMBOLIC.createBytes(100, "input");
    }

    function anyAmount(string memory name) private returns (uint256 result) {
        result = SYMBOLIC.createUint256(name);
        VM.assume(result < 2 ** 128); // no supply is larger, and sums don't overflow
    }
}
