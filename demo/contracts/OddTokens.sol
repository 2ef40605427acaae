// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {TestToken} from "./TestToken.sol";

/// Rejects a transfer by returning false, as early tokens do. The transaction succeeds, but nothing is moved or logged.
contract FalseToken {
    string public name;
    string public symbol;
    uint8 public immutable decimals;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function balanceOf(address) external pure returns (uint256) {
        return 0;
    }

    function transfer(address, uint256) external pure returns (bool) {
        return false;
    }
}

/// A token that also logs events that only look like transfers.
contract LookAlikeLogs is TestToken {
    event Hidden(address indexed from, address indexed to, uint256 value) anonymous;

    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    /// Log the transfer like an ERC-721 token, with the amount as a fourth topic.
    function transferNumbered(address to, uint256 value) external {
        bytes32 topic = Transfer.selector;
        assembly {
            log4(0, 0, topic, caller(), to, value)
        }
    }

    function transferAnonymously(address to, uint256 value) external {
        emit Hidden(msg.sender, to, value);
    }

    /// Log the transfer with `length` bytes of data, which contain the value.
    function transferSized(address to, uint256 value, uint256 length) external {
        bytes32 topic = Transfer.selector;
        assembly {
            mstore(add(0x20, length), value)
            log3(0x40, length, topic, caller(), to)
        }
    }
}

/// Calls the sender's hook before the transfer, as ERC-777 tokens do.
contract HookToken is TestToken {
    struct Hook {
        address target;
        bytes data;
    }

    mapping(address => Hook) internal hooks;

    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    function setHook(address target, bytes calldata data) external {
        hooks[msg.sender] = Hook(target, data);
    }

    function _transfer(address from, address to, uint256 value) internal override {
        Hook memory hook = hooks[from];
        delete hooks[from];
        if (hook.target != address(0)) {
            (bool done, ) = hook.target.call(hook.data);
            require(done);
        }
        super._transfer(from, to, value);
    }
}

/// Calls the recipient's hook after the transfer, as ERC-777 tokens do.
contract ReceiverHookToken is TestToken {
    mapping(address => bool) public isCalled;

    constructor(string memory name_, string memory symbol_, uint8 decimals_)
        TestToken(name_, symbol_, decimals_)
    {}

    function register(address recipient) external {
        isCalled[recipient] = true;
    }

    function _transfer(address from, address to, uint256 value) internal override {
        super._transfer(from, to, value);
        if (isCalled[to]) {
            (bool done, ) = to.call(abi.encodeWithSignature("tokensReceived(address,uint256)", from, value));
            require(done);
        }
    }
}
