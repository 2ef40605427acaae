// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {TestToken} from "./TestToken.sol";

/// A token that keeps 1 % of each transfer: what arrives is less than what the call names.
contract FeeToken is TestToken {
    address public immutable collector;

    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {
        collector = msg.sender;
    }

    function _transfer(address from, address to, uint256 value) internal override {
        uint256 fee = value / 100;
        _take(from, value);
        _give(from, collector, fee);
        _give(from, to, value - fee);
    }
}
