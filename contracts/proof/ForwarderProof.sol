// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Forwarder} from "../Forwarder.sol";
import {HostileToken, IProver, RecipientModel, TokenModel} from "./Models.sol";

/// @title What is proved of the forwarder's compiled code, for any balances, callers, calls and values.
/// @dev A forwarder has no storage, so each call of it is like its first: what holds for one call from any balances
/// holds for any number of calls. The recipient may reject native coin; it and a hostile token may call back once.
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

    /// A caller could take native coin, if the forwarder gave it any.
    receive() external payable {}

    function setUp() public {
        recipient = new RecipientModel(SYMBOLIC.createBool("accepts"));
        token = new TokenModel();
        hostile = new HostileToken(SYMBOLIC.createUint256("hostileBalance"), SYMBOLIC.createUint256("hostileResult"));
        forwarder = new Forwarder(address(recipient));
    }

    /// What leaves a forwarder goes to its recipient.
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

    /// What was swept is at most what was received: nothing comes from any other account, whatever it approved.
    function check_sweptIsAtMostReceived() public {
        Balances memory start = anyBalances();
        uint256 received = start.coins + anyCall();
        assert(address(recipient).balance - start.recipientCoins <= received);
        assert(token.balanceOf(address(recipient)) - start.recipientTokens <= start.tokens);
    }

    /// Anyone's sweep brings everything to a recipient that accepts it.
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

    /// Have the recipient and the hostile token sweep any asset in the midst of a sweep.
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

    /// Have a stranger make any call with any value; return the value that the forwarder accepted.
    function anyCall() private returns (uint256) {
        address caller = SYMBOLIC.createBool("isContract") ? address(this) : SYMBOLIC.createAddress("caller");
        VM.assume(caller != address(forwarder) && caller != address(recipient)); // whose balances are compared
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
