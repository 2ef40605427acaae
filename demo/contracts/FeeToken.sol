// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {TestToken} from "./TestToken.sol";

/// A token that keeps 1 % of each transfer. So the recipient gets less than the amount in the call.
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

/// A token with a fee for the recipient. It logs the transfer of the whole amount and, in the same call, a transfer of
/// the fee from the recipient.
contract ArrivalFeeToken is TestToken {
    address public constant COLLECTOR = address(0xFEE);

    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    function _transfer(address from, address to, uint256 value) internal override {
        super._transfer(from, to, value);
        uint256 fee = value / 100;
        _take(to, fee);
        _give(to, COLLECTOR, fee);
    }
}

/// A token that stores shares instead of amounts. It logs the amount in the call. Because of rounding, the recipient
/// may get one unit less.
contract SharesToken is TestToken {
    uint256 internal constant UNITS = 7;
    uint256 internal constant SHARES = 5;

    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    function balanceInUnits(address owner) external view returns (uint256) {
        return balanceOf[owner] * UNITS / SHARES;
    }

    function _transfer(address from, address to, uint256 value) internal override {
        uint256 shares = value * SHARES / UNITS;
        _take(from, shares);
        balanceOf[to] += shares;
        emit Transfer(from, to, value);
    }
}
