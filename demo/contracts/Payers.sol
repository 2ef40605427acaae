// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface Token {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// Makes any calls for any caller, with the caller's value.
contract BatchPayer {
    struct Call {
        address to;
        uint256 value;
        bytes data;
        bool mayFail;
    }

    receive() external payable {}

    function run(Call[] calldata calls) public payable {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done, ) = calls[i].to.call{value: calls[i].value}(calls[i].data);
            require(done || calls[i].mayFail);
        }
    }

    function runAndRevert(Call[] calldata calls) external payable {
        run(calls);
        revert();
    }

    /// The call has a value, but no coin moves to `target`, because a delegate call runs its code in this contract.
    function borrow(address target, bytes calldata data) external payable {
        (bool done, ) = target.delegatecall(data);
        require(done);
    }
}

/// Destroys itself, and leaves its coin to `heir`. If `heir` is this contract itself, it keeps the coin.
contract Legacy {
    receive() external payable {}

    function close(address payable heir) external {
        selfdestruct(heir);
    }
}

/// Moves tokens of accounts that have approved it. After the arguments of its call to the token, it adds the given
/// reference.
contract Router {
    function pay(Token token, address from, address to, uint256 value, bytes calldata tail) external {
        (bool done, ) = address(token).call(
            abi.encodePacked(abi.encodeCall(token.transferFrom, (from, to, value)), tail)
        );
        require(done);
    }
}
